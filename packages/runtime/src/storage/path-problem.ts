import { accessSync, constants, lstatSync, statSync } from 'node:fs';

/**
 * Why `path` cannot be read as a file or as a folder, to complete "--data: expected a file, got …" and
 * "The script x …"; undefined if it can. A pipe or a device is a file that can be read.
 */
export function pathProblem(path: string, expected: 'file' | 'folder'): string | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found) return describeMissing(path);
    if (expected === 'file' && found.isDirectory()) return 'is a folder';
    if (expected === 'folder' && !found.isDirectory()) return found.isFile() ? 'is a file' : 'is no folder';
    accessSync(path, expected === 'file' ? constants.R_OK : constants.R_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const code = String((error as NodeJS.ErrnoException).code);
    // EACCES also for a folder above it; a name that is too long, or a loop of links.
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
