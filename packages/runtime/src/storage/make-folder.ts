import { mkdirSync, statSync } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/*
 * Folders are made without Node's `recursive` option: where the system answers ENOENT although the folder above is there (`/proc/x`), Node tries again forever.
 */

/**
 * Makes a folder and those above it, unless they are there, and syncs each into the one above: files in a folder whose own name is lost are lost too.
 *
 * @throws the file system's error
 */
export async function makeFolder(path: string): Promise<void> {
  if (await makeOne(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  // A second time it is the system's answer, whose error is thrown.
  if (!(await makeOne(path))) await mkdir(path);
}

/** False where the folder above it is missing. */
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

/** Makes a folder and those above it, unless they are there. Throws the file system's error. */
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

/** Some network file systems cannot sync folders (EINVAL), and keep their names at once. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    if (!isCode(error, 'EINVAL')) throw error;
  } finally {
    await folder.close();
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}
