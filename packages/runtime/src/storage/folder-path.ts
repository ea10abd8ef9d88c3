import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { InvalidArgumentError } from '@ringrun/collectives';

/**
 * Refuses a path that can be no folder, because it or the nearest of its parents that exists is something else. A folder that does not exist may be made later.
 *
 * @param who What failed, for the message, such as `Checkpointer: dir`.
 * @throws InvalidArgumentError
 */
export function refuseFileAsFolder(path: string, who: string): void {
  const existing = nearestExisting(resolve(path));
  if (existing.isFolder) return;
  const got =
    existing.path === resolve(path) ? `the file ${path}` : `${path}, in which ${existing.path} is a file`;
  throw new InvalidArgumentError(
    `${who}: expected a folder, got ${got}. Name a folder, or one that does not exist yet.`,
  );
}

function nearestExisting(path: string): { path: string; isFolder: boolean } {
  const found = tryStat(path);
  if (found) return { path, isFolder: found.isDirectory() };
  const parent = dirname(path);
  return parent === path ? { path, isFolder: true } : nearestExisting(parent);
}

/** Undefined also where the path may not be looked at: the first access tells why. */
function tryStat(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
