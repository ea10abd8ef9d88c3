/** Types of reached-folders.js, for tests. */
export function reachedFolders(
  changed: string[],
  workspaces: { folder: string; name: string; dependencies: string[] }[],
): string[];
