/** Types of object-cache.js, for tests. */
export function beyondLimit(
  files: { name: string; bytes: number; usedAt: number }[],
  limit: number,
): string[];
