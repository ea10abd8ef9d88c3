import type { BigIntStats, Dirent } from 'node:fs';
import { opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StorageEntry } from './storage.ts';

/** Entries of a folder that are read at a time. */
const bufferSize = 1024;

/** A folder that is still to be read. */
interface Waiting {
  /** Relative to the root: ends with `/`, or is empty. */
  name: string;
  /** The folder and the ones above it, as the system identifies them. */
  trail: readonly string[];
}

/**
 * The entries below a folder, each as soon as the system names it, in no order. Links are followed; one to a folder above
 * itself is reported, but not entered. Nothing for a missing folder or a file.
 *
 * @param enters whether to read a folder, by its name relative to the root, which ends with `/`
 */
export async function* walkFolder(
  root: string,
  enters: (folder: string) => boolean,
): AsyncGenerator<StorageEntry, void> {
  const waiting: Waiting[] = [{ name: '', trail: [] }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { name, trail } = next;
    const self = await statOf(join(root, name));
    if (!self?.isDirectory()) continue;
    const here = [...trail, identityOf(self)];
    for await (const entry of entriesOf(join(root, name))) {
      const found = await resolved(root, name + entry.name, entry, here);
      yield found;
      const below = `${found.name}/`;
      if (found.kind === 'folder' && enters(below)) waiting.push({ name: below, trail: here });
    }
  }
}

async function resolved(
  root: string,
  name: string,
  entry: Dirent,
  above: readonly string[],
): Promise<StorageEntry> {
  if (entry.isFile()) return { name, kind: 'object' };
  if (entry.isDirectory()) return { name, kind: 'folder' };
  if (!entry.isSymbolicLink()) return { name, kind: 'no file' };
  const target = await statOf(join(root, name));
  if (target === undefined) return { name, kind: 'broken link' };
  if (!target.isDirectory()) return { name, kind: target.isFile() ? 'object' : 'no file' };
  return { name, kind: above.includes(identityOf(target)) ? 'link to a folder above it' : 'folder' };
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** Undefined for a path that does not exist, a dangling link, and a loop of links. */
async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(String((error as NodeJS.ErrnoException).code)))
      return undefined;
    throw error;
  }
}

/** Not a list: a folder may have millions of entries. Empty for one that was removed meanwhile. */
async function* entriesOf(folder: string): AsyncGenerator<Dirent, void> {
  try {
    yield* await opendir(folder, { bufferSize });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
