/** Types of units.js, for tests. */
export function unitsOf(sources: { name: string; bytes: number }[]): string[][];
