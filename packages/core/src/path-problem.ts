import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Why `path` cannot be read as a file or as a folder, to complete "--data: expected a file, got …" and
 * "The script x …"; undefined if it can. A pipe or a device is a file that can be read.
 */
export function pathProblem(path: string, expected: 'file' | 'folder'): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return describeMissing(path);
    if (expected === 'file' && found.isDirectory()) return 'is a folder';
    if (expected === 'folder' && !found.isDirectory())
      return found.isFile() ? 'is a file' : 'is not a folder';
    accessSync(path, expected === 'file' ? constants.R_OK : constants.R_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    // EACCES (also on a parent folder), ENAMETOOLONG or ELOOP.
    return `cannot be read (${code})`;
  }
}

function describeMissing(path: string): string {
  try {
    const link = lstatSync(path, { throwIfNoEntry: false });
    return link?.isSymbolicLink() === true ? 'is a link to a path that does not exist' : 'does not exist';
  } catch {
    return 'does not exist';
  }
}

/**
 * Why a file or a folder at `path` cannot be written, as `pathProblem`; undefined if it can. It and its parent folders
 * may be missing.
 */
export function outputProblem(path: string, expected: 'file' | 'folder'): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return aboveProblem(resolve(path));
    if (expected === 'file' && found.isDirectory()) return 'is a folder';
    if (expected === 'folder' && !found.isDirectory()) return 'is a file';
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') return aboveProblem(resolve(path));
    return `cannot be written (${code})`;
  }
}

/** Why nothing can be created below the nearest folder that exists. */
function aboveProblem(path: string): string | undefined {
  const above = dirname(path);
  const problem = pathProblem(above, 'folder');
  if (problem === 'does not exist' || problem?.includes('ENOTDIR') === true) return aboveProblem(above);
  if (problem !== undefined) return `cannot be created: ${above} ${problem}`;
  try {
    accessSync(above, constants.W_OK);
    return undefined;
  } catch (error) {
    return `cannot be created: ${above} cannot be written (${(error as NodeJS.ErrnoException).code})`;
  }
}
