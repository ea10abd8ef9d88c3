/** Types of check.js, for tests. */
export function problemsOf(
  folders: readonly string[],
  options?: { isChecked?: (name: string) => boolean },
): string[];
