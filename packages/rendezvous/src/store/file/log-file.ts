import { open, readlink, stat, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { RingrunError } from '@ringrun/core';
import { loadNative } from '@ringrun/native';
import { decodeRecords, encodeRecord, fileHeader } from './record.ts';
import type { FileRecord } from './record.ts';

/** Offset of the byte that a writer locks. */
const penByte = 0;
/** Offset of the byte that a member keeps locked while its process lives. */
const memberByte = (index: number) => 1 + index;

/** Maximum bytes of one read, which are in memory at once. */
const maxUnreadBytes = 2 ** 30;

/**
 * A file of records that several processes append to. All state is in the file and in the kernel's locks: a process
 * that dies leaves at worst an incomplete record, which the next writer cuts off, and no lock.
 */
export class LogFile {
  /** Absolute. */
  readonly path: string;
  readonly #file: FileHandle;
  readonly #native = loadNative();
  /** Offset of the end of the last record read. */
  #position = 0;

  /** Files of living members: garbage collection would close a file that nothing refers to, and release its locks. */
  static readonly #living = new Set<LogFile>();

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Opens the file, or creates an empty one that only its user can read and write. */
  static async open(path: string): Promise<LogFile> {
    const absolute = resolve(path);
    try {
      return new LogFile(absolute, await openOrCreate(absolute));
    } catch (cause) {
      throw fileError(absolute, 'cannot be opened', cause);
    }
  }

  /** Locks the file for writing; false if another process has the lock. The holder must read before it writes. */
  tryTakePen(): boolean {
    return this.#lockingCall(() => this.#native.tryLockByte(this.#file.fd, penByte));
  }

  returnPen(): void {
    this.#native.unlockByte(this.#file.fd, penByte);
  }

  /** Marks the member as living until this process dies or closes the file. */
  markAsLiving(index: number): void {
    LogFile.#living.add(this);
    this.#lockingCall(() => this.#native.tryLockByte(this.#file.fd, memberByte(index)));
  }

  isLiving(index: number): boolean {
    return this.#lockingCall(() => this.#native.isByteLockedElsewhere(this.#file.fd, memberByte(index)));
  }

  /** True if the path still names this file. */
  async isInPlace(): Promise<boolean> {
    try {
      const [here, there] = await Promise.all([
        this.#file.stat({ bigint: true }),
        stat(this.path, { bigint: true }),
      ]);
      return here.ino === there.ino && here.dev === there.dev;
    } catch {
      return false;
    }
  }

  /**
   * Records appended since the last call.
   *
   * Opens the file again, because network file systems look for other clients' writes on open.
   *
   * @throws RingrunError `ERR_STORE_LOST` if the file was removed, replaced or shortened; `ERR_STORE_FILE` if it is not
   * a store, has an invalid record, or has grown by more than 1 GiB.
   */
  async read(): Promise<FileRecord[]> {
    const bytes = await this.#bytesSince(this.#position);
    if (this.#position > 0) return this.#take(bytes);
    if (!fileHeader.subarray(0, bytes.length).equals(bytes.subarray(0, fileHeader.length))) {
      throw fileError(this.path, 'is not a ringrun store', 'it begins with other bytes');
    }
    if (bytes.length < fileHeader.length) return [];
    this.#position = fileHeader.length;
    return this.#take(bytes.subarray(fileHeader.length));
  }

  /**
   * Appends records, and cuts off the incomplete record of a killed writer. The caller holds the write lock and has
   * read the file.
   */
  async append(records: readonly FileRecord[]): Promise<void> {
    const header = this.#position === 0 ? [fileHeader] : [];
    const bytes = Buffer.concat([...header, ...records.map(encodeRecord)]);
    try {
      await this.#file.truncate(this.#position);
      await writeAll(this.#file, bytes, this.#position);
    } catch (cause) {
      // Best effort: the next writer cuts an incomplete record off too.
      await this.#file.truncate(this.#position).catch(() => undefined);
      throw fileError(this.path, 'cannot be written to', cause);
    }
    this.#position += bytes.length;
  }

  /** Empties the file. The caller holds the write lock. */
  async clear(): Promise<void> {
    await this.#file.truncate(0);
    this.#position = 0;
  }

  /** Removes the file. Processes that wait for the write lock detect the removal. */
  async remove(): Promise<void> {
    await unlink(this.path).catch(() => undefined);
  }

  /** Releases all locks. */
  async close(): Promise<void> {
    LogFile.#living.delete(this);
    await this.#file.close();
  }

  #take(bytes: Buffer): FileRecord[] {
    try {
      const { records, consumed } = decodeRecords(bytes);
      this.#position += consumed;
      return records;
    } catch (cause) {
      throw this.invalid(cause);
    }
  }

  /** The error of a record that has a valid checksum but no valid contents. */
  invalid(cause: unknown): RingrunError {
    return fileError(this.path, 'has an invalid record', cause);
  }

  async #bytesSince(position: number): Promise<Buffer> {
    const file = await open(this.path, 'r').catch((cause: unknown) => {
      throw lostFile(this.path, cause);
    });
    try {
      const [own, { ino, dev, size }] = await Promise.all([this.#file.stat(), file.stat()]);
      if (own.ino !== ino || own.dev !== dev) throw lostFile(this.path, 'another file is in its place');
      if (size < position)
        throw lostFile(this.path, `it was shortened from ${position} or more bytes to ${size}`);
      if (size - position > maxUnreadBytes) {
        const excess = `${size - position} bytes are unread, expected at most ${maxUnreadBytes}`;
        throw fileError(this.path, 'is too large', excess);
      }
      return await readAll(file, position, size - position);
    } finally {
      await file.close();
    }
  }

  #lockingCall<Result>(call: () => Result): Result {
    try {
      return call();
    } catch (cause) {
      throw fileError(
        this.path,
        'cannot be locked; choose a folder on a file system that supports locks',
        cause,
      );
    }
  }
}

/** Attempts if other processes remove and create the file between two calls. */
const maxAttempts = 100;

async function openOrCreate(path: string): Promise<FileHandle> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await open(path, 'r+');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
    try {
      return await open(path, 'wx+', 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      await refuseLinkToNothing(path);
      if (attempt === maxAttempts) throw error;
    }
  }
}

/**
 * Refuses a dangling link, so that no file is created through it: in a shared folder, another user may have planted it.
 */
async function refuseLinkToNothing(path: string): Promise<void> {
  const target = await readlink(path).catch(() => undefined);
  if (target === undefined || (await stat(path).catch(() => undefined)) !== undefined) return;
  throw new Error(`it is a link to ${target}, which does not exist`);
}

async function readAll(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let got = 0;
  while (got < length) {
    const { bytesRead } = await file.read(bytes, got, length - got, position + got);
    if (bytesRead === 0) break;
    got += bytesRead;
  }
  return bytes.subarray(0, got);
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
}

function fileError(path: string, problem: string, cause: unknown): RingrunError {
  return new RingrunError(
    'ERR_STORE_FILE',
    `The store's file ${path} ${problem} (${describe(cause)}). Use a new file, in a folder that all processes of the job can write to.`,
    { cause },
  );
}

function lostFile(path: string, cause: unknown): RingrunError {
  return new RingrunError(
    'ERR_STORE_LOST',
    `The store in the file ${path} was lost while it was in use: ${describe(cause)}. Restart the job with a file that no other program uses.`,
    { cause },
  );
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
