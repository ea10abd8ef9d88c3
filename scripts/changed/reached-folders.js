import { posix } from 'node:path';

/** Files on which every test depends. */
const shared =
  /^(package\.json|pnpm-lock\.yaml|pnpm-workspace\.yaml|tsconfig[^/]*\.json|vitest\.config\.ts)$/;

/**
 * The folders whose tests a change can reach: of a changed workspace, of the workspaces that depend on it, directly or
 * not, and `test` if it uses one of them or a file outside of workspaces changed.
 *
 * @param changed Paths of changed files, relative to the repository.
 * @param workspaces Folders of the workspaces, with their names and the names of their dependencies of every kind. The one with
 * the folder `.` is the repository's, whose tests are in `test`.
 */
export function reachedFolders(changed, workspaces) {
  if (changed.some((file) => shared.test(file))) return workspaces.map(testsOf).sort();
  const reached = new Set(changed.map((file) => ownerOf(file, workspaces)));
  for (let before = -1; before !== reached.size;) {
    before = reached.size;
    const names = [...reached].map(({ name }) => name);
    for (const one of workspaces) {
      if (one.dependencies.some((name) => names.includes(name))) reached.add(one);
    }
  }
  return [...reached].map(testsOf).sort();
}

function testsOf({ folder }) {
  return posix.join(folder, 'test');
}

function ownerOf(file, workspaces) {
  const inside = workspaces.find(({ folder }) => file.startsWith(`${folder}/`));
  return inside ?? workspaces.find(({ folder }) => folder === '.');
}
