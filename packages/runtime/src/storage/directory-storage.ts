import { randomBytes } from 'node:crypto';
import { constants as constantsOf, createReadStream } from 'node:fs';
import { lstat, open, rename, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { constants } from 'node:buffer';
import { makeFolder, syncFolder } from '@ringrun/core';
import { directoryError, systemCode } from './directory-errors.ts';
import { byName, checkedName } from './names.ts';
import type { Storage, StorageEntry, StoredObject } from './storage.ts';
import { StorageError } from './storage-error.ts';
import { walkFolder } from './walk-folder.ts';

/** Bytes of one chunk of a file. */
const chunkBytes = 2 ** 18;

/** Files whose sizes are read at a time. */
const statsAtOnce = 256;

/** Suffix of files that are being written, which are not listed. Only a crash leaves such a file. */
const unfinished = '.part';

/** Whether a file with this name is one that `writeDurably` did not complete. */
export function isUnfinished(file: string): boolean {
  return /\.\d+-[\da-f]{8}\.part$/.test(file);
}

/** Files below a folder, which is created by the first write. */
export class DirectoryStorage implements Storage {
  readonly location: string;

  constructor(location: string) {
    this.location = resolve(location);
  }

  async list(prefix = ''): Promise<StoredObject[]> {
    return await this.#try('listing', this.location, async () => {
      const objects: StoredObject[] = [];
      for await (const names of inGroups(this.#namesOf(prefix), statsAtOnce)) {
        const found = await Promise.all(names.map((name) => this.#objectAt(name)));
        for (const object of found) if (object !== undefined) objects.push(object);
      }
      return objects.sort(byName);
    });
  }

  async *entries(prefix = ''): AsyncGenerator<StorageEntry, void> {
    const isWanted = ({ name, kind }: StorageEntry) =>
      name.startsWith(prefix) && !(kind === 'object' && name.endsWith(unfinished));
    try {
      // Only folders that may have names that begin with the prefix.
      const found = walkFolder(
        this.location,
        (folder) => folder.startsWith(prefix) || prefix.startsWith(folder),
      );
      for await (const entry of found) if (isWanted(entry)) yield entry;
    } catch (error) {
      throw directoryError(`listing ${this.location}`, error);
    }
  }

  async read(name: string): Promise<Uint8Array<ArrayBuffer>> {
    const path = this.#path(name);
    return await this.#try('reading', path, () => againIfStale(() => readWhole(path)));
  }

  async size(name: string): Promise<number> {
    const path = this.#path(name);
    return await this.#try('reading', path, async () => {
      const found = await stat(path);
      if (found.isDirectory()) throw Object.assign(new Error('EISDIR: it is a folder'), { code: 'EISDIR' });
      return found.size;
    });
  }

  async readRange(name: string, begin: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
    const path = this.#path(name);
    return await this.#try('reading', path, () => againIfStale(() => readPart(path, begin, end)));
  }

  async *chunks(name: string): AsyncGenerator<Uint8Array, void> {
    const path = this.#path(name);
    try {
      yield* createReadStream(path, { highWaterMark: chunkBytes }) as AsyncIterable<Buffer>;
    } catch (error) {
      throw directoryError(`reading ${path}`, error);
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(name);
    await this.#try('writing', path, () => writeDurably(path, bytes));
  }

  async delete(name: string): Promise<void> {
    const path = this.#path(name);
    await this.#try('deleting', path, async () => {
      await this.#requireNoLinkAbove(name);
      await rm(path, { force: true });
    });
  }

  async deleteFolder(folder: string, first?: string): Promise<void> {
    const path = this.#path(folder);
    await this.#try('deleting', path, async () => {
      await this.#requireNoLinkAbove(folder);
      if (first !== undefined && !(await isLink(path))) await this.delete(`${folder}/${first}`);
      await rm(path, { recursive: true, force: true });
    });
  }

  /** The location itself may be a link, which the user has chosen. */
  async #requireNoLinkAbove(name: string): Promise<void> {
    for (let above = dirname(name); above !== '.'; above = dirname(above)) {
      const path = this.#path(above);
      if (await isLink(path)) throw new Error(`${path} is a symbolic link; delete in its target instead`);
    }
  }

  /** Undefined for a file that was deleted after listing, and for a dangling link. */
  async #objectAt(name: string): Promise<StoredObject | undefined> {
    const found = await stat(this.#path(name)).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    });
    return found && { name, bytes: found.size };
  }

  async *#namesOf(prefix: string): AsyncGenerator<string, void> {
    for await (const { name, kind } of this.entries(prefix)) if (kind === 'object') yield name;
  }

  #path(name: string): string {
    return join(this.location, checkedName(name));
  }

  async #try<T>(doing: string, path: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      throw error instanceof StorageError ? error : directoryError(`${doing} ${path}`, error);
    }
  }
}

async function isLink(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  return found?.isSymbolicLink() === true;
}

/** Lists of `size` items; the last one may be shorter. */
async function* inGroups<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[], void> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/**
 * Writes a temporary file, syncs and renames it: readers find the complete old or new file, even after a crash. The
 * folder is synced too, because it stores the new name.
 */
async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  await makeFolder(dirname(path));
  const { temporary, file } = await createTemporary(path);
  try {
    await renameDurably(temporary, path, await writeAndSync(file, bytes));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Attempts to create a temporary file, each with another name. */
const createAttempts = 3;

/**
 * An NFS client repeats a request whose answer was lost, and reports EEXIST although the first one has created the file.
 * Names are random, so an empty file of that name is this process's own.
 */
async function createTemporary(path: string): Promise<{ temporary: string; file: FileHandle }> {
  for (let attempt = 1; ; attempt += 1) {
    const temporary = `${path}.${process.pid}-${randomBytes(4).toString('hex')}${unfinished}`;
    try {
      return { temporary, file: await open(temporary, 'wx') };
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw error;
      const left = await lstat(temporary).catch(() => undefined);
      if (left?.size === 0) await rm(temporary, { force: true });
      if (attempt === createAttempts) throw error;
    }
  }
}

/** Closes the file, and returns the number of its inode. */
async function writeAndSync(file: FileHandle, bytes: Uint8Array): Promise<bigint> {
  try {
    await file.writeFile(bytes);
    await file.sync();
    return (await file.stat({ bigint: true })).ino;
  } finally {
    await file.close();
  }
}

/**
 * An NFS client repeats a request whose answer was lost, and reports the error of the second one, such as ENOENT, although
 * the first one has renamed the file.
 */
async function renameDurably(from: string, to: string, ino: bigint): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    const found = await stat(to, { bigint: true }).catch(() => undefined);
    if (found?.ino !== ino) throw error;
  }
}

/** Attempts to read a file that other hosts replace on an NFS server. */
const staleAttempts = 3;

/** Opens the file again if its handle is stale: another file has its name since it was looked up. */
async function againIfStale<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await act();
    } catch (error) {
      const isStale = systemCode(error) === 'ESTALE';
      if (!isStale || attempt === staleAttempts) throw error;
    }
  }
}

/** The bytes of a file from `begin` to before `end`. */
async function readPart(path: string, begin: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const file = await open(path, constantsOf.O_RDONLY | constantsOf.O_NONBLOCK);
  try {
    const bytes = await readInto(file, new Uint8Array(end - begin), begin, readAtOnce);
    if (bytes.length === end - begin) return bytes;
    throw new Error(`expected at least ${end} bytes, got ${begin + bytes.length}`);
  } finally {
    await file.close();
  }
}

/** Fills `bytes` with those of a file from `begin` on. Returns fewer at the end of the file. */
async function readInto(
  file: FileHandle,
  bytes: Uint8Array<ArrayBuffer>,
  begin: number,
  atOnce: number,
): Promise<Uint8Array<ArrayBuffer>> {
  let read = 0;
  while (read < bytes.length) {
    const { bytesRead } = await file.read(bytes, read, Math.min(atOnce, bytes.length - read), begin + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return bytes.subarray(0, read);
}

/** Node reads less than 2 GiB at once. */
const readAtOnce = 2 ** 30;

/**
 * All bytes of a file, of any size that an array can have.
 *
 * @param atOnce bytes of one read; default: 1 GiB
 * @throws the file system's error
 */
export async function readWhole(path: string, atOnce = readAtOnce): Promise<Uint8Array<ArrayBuffer>> {
  // Without O_NONBLOCK, a pipe without a writer would block a thread of the process.
  const file = await open(path, constantsOf.O_RDONLY | constantsOf.O_NONBLOCK);
  try {
    const stats = await file.stat();
    const { size } = stats;
    // Those have no end, or wait for a writer.
    if (stats.isFIFO() || stats.isCharacterDevice() || stats.isSocket())
      throw new Error('it is a pipe, a socket or a device, not a file');
    // Generated files, such as those in /proc, have size 0.
    if (size === 0) return await file.readFile();
    if (size > constants.MAX_LENGTH)
      throw new Error(
        `it has ${size} bytes, but an array of this Node.js has at most ${constants.MAX_LENGTH}`,
      );
    return await readInto(file, new Uint8Array(size), 0, atOnce);
  } finally {
    await file.close();
  }
}
