import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InvalidArgumentError } from '@ringrun/core';

/**
 * Refuses a path that cannot be a folder, because it or its nearest existing parent is a file. Accepts folders that do
 * not exist.
 *
 * @param who Subject of the error, such as `Checkpointer: dir`.
 * @throws InvalidArgumentError
 */
export function refuseFileAsFolder(path: string, who: string): void {
  const existing = nearestExisting(resolve(path));
  if (existing.isFolder) return;
  const got =
    existing.path === resolve(path) ? `the file ${path}` : `${path}, in which ${existing.path} is a file`;
  throw new InvalidArgumentError(
    `${who}: expected a folder, got ${got}. Use a folder, or a path that does not exist yet.`,
  );
}

function nearestExisting(path: string): { path: string; isFolder: boolean } {
  const found = tryStat(path);
  if (found) return { path, isFolder: found.isDirectory() };
  const parent = dirname(path);
  return parent === path ? { path, isFolder: true } : nearestExisting(parent);
}

/** Undefined if the path cannot be read: the first access reports the reason. */
function tryStat(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
