/** Types of check.js, for tests. */
export function problemsOf(folders: readonly string[], options?: { binaries?: boolean }): string[];
