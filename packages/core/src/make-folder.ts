import { mkdirSync, statSync } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/*
 * Without Node's `recursive` option, which retries forever if the system returns ENOENT although the parent exists
 * (`/proc/x`).
 */

/**
 * Creates a folder and its parents if needed, and syncs each parent: if a folder's name is lost in a crash, its files
 * are lost too.
 *
 * @throws the file system's error
 */
export async function makeFolder(path: string): Promise<void> {
  if (await makeOne(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  // The second attempt throws the system's error.
  if (!(await makeOne(path))) await mkdir(path);
}

/** False if the parent is missing. */
async function makeOne(path: string): Promise<boolean> {
  try {
    await mkdir(path);
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    if (isCode(error, 'EEXIST') && (await stat(path)).isDirectory()) return true;
    throw error;
  }
  await syncFolder(dirname(path));
  return true;
}

/** Creates a folder and its parents if needed. Throws the file system's error. */
export function makeFolderSync(path: string): void {
  const folder = resolve(path);
  if (makeOneSync(folder)) return;
  if (dirname(folder) !== folder) makeFolderSync(dirname(folder));
  if (!makeOneSync(folder)) mkdirSync(folder);
}

function makeOneSync(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (isCode(error, 'ENOENT')) return false;
    if (isCode(error, 'EEXIST') && statSync(path).isDirectory()) return true;
    throw error;
  }
}

/** Ignores the errors of network file systems that cannot sync folders; they store names immediately. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    if (!isCode(error, 'EINVAL') && !isCode(error, 'ENOTSUP') && !isCode(error, 'EOPNOTSUPP')) throw error;
  } finally {
    await folder.close();
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
