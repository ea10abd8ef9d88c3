import { close, constants, fstatSync, ftruncate, openSync, readdirSync, write } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeFolderSync } from '@ringrun/core';
import { encodeTfRecord } from './tfrecord.ts';

const closeFile = promisify(close);
const cutFile = promisify(ftruncate);
const writeFile = promisify(write);

let fileCount = 0;

/**
 * A name that is unique across hosts, processes and files, and sorts by time:
 * `events.out.tfevents.<seconds>.<host>.<pid>.<n>`.
 */
function nextEventFileName(seconds: number, suffix: string): string {
  const time = Math.floor(seconds).toString().padStart(10, '0');
  const number = fileCount++;
  return `events.out.tfevents.${time}.${hostname()}.${process.pid}.${number}${suffix}`;
}

/**
 * The seconds in the name of a file that is added to `existing`. TensorBoard reads the files of a run in the order of
 * their names and never returns to an earlier one, so a file that is written after the clock was set back must not come
 * before the others.
 */
function secondsAfter(existing: readonly string[], now: number): number {
  const earlier = existing.map((name) => Number(/^events\.out\.tfevents\.(\d{10})\./.exec(name)?.[1] ?? 0));
  const newest = Math.max(0, ...earlier);
  return newest > now ? newest + 1 : now;
}

/**
 * An append-only file of records. It is opened at once, so an unwritable folder is an error before training
 * starts. Records are written asynchronously, in order. A write that fails (such as on a full disk) does not end
 * training: its records are lost, the file is cut after its last whole record, because readers stop at a broken
 * one, and later records are written as soon as that is possible. One line reports the first failure, and one the end
 * of the failures.
 */
export class EventFile {
  readonly path: string;
  readonly #file: number;
  /** Bytes of the whole records. */
  #end: number;
  /** Whether a part of a record may follow. */
  #isTorn = false;
  /** Bytes of the current write that are in the file. */
  #written = 0;
  /** The first record, without which readers do not accept the file: it is never lost. */
  #first: Buffer | undefined;
  #waiting: Buffer[] = [];
  #writing: Promise<void> | undefined;
  #failure: Error | undefined;
  /** Records since the first failure that are not in the file. */
  #lost = 0;
  #isClosed = false;

  /** @throws the file system's error if the folder cannot be created or the file cannot be opened */
  constructor(path: string) {
    this.path = path;
    makeFolderSync(dirname(path));
    // Not O_APPEND, with which positions of writes are ignored.
    this.#file = openSync(path, constants.O_WRONLY | constants.O_CREAT);
    this.#end = fstatSync(this.#file).size;
  }

  /** The error of the last write; undefined if it succeeded. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  append(bytes: Uint8Array): void {
    // The number of the closed file may be another file's.
    if (this.#isClosed) return;
    const record = encodeTfRecord(bytes);
    this.#first ??= record;
    this.#waiting.push(record);
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when all records have been written to the operating system, or are lost. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async close(): Promise<void> {
    await this.flush();
    if (this.#isClosed) return;
    this.#isClosed = true;
    await closeFile(this.#file).catch(() => undefined);
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const isFirstMissing = this.#end === 0 && this.#waiting[0] !== this.#first;
      const records = isFirstMissing ? [this.#first!, ...this.#waiting] : this.#waiting;
      this.#waiting = [];
      const begin = this.#end;
      try {
        await this.#write(Buffer.concat(records));
        this.#end = begin + records.reduce((sum, { length }) => sum + length, 0);
        this.#recordSuccess();
      } catch (error) {
        await this.#recordFailure(error as Error, records);
      }
    }
    this.#writing = undefined;
  }

  /** Writes bytes after the last whole record. */
  async #write(bytes: Uint8Array): Promise<void> {
    this.#written = 0;
    await this.#cutIfTorn();
    while (this.#written < bytes.length) {
      const rest = bytes.length - this.#written;
      const { bytesWritten } = await writeFile(
        this.#file,
        bytes,
        this.#written,
        rest,
        this.#end + this.#written,
      );
      this.#written += bytesWritten;
    }
  }

  /** Removes the part of a record. */
  async #cutIfTorn(): Promise<void> {
    if (this.#isTorn) await cutFile(this.#file, this.#end);
    this.#isTorn = false;
  }

  async #recordFailure(error: Error, records: readonly Buffer[]): Promise<void> {
    let [whole, bytes] = [0, 0];
    while (whole < records.length && bytes + records[whole].length <= this.#written) {
      bytes += records[whole].length;
      whole += 1;
    }
    this.#end += bytes;
    const isFirstKept = whole === 0 && records[0] === this.#first;
    this.#lost += records.length - whole - (isFirstKept ? 1 : 0);
    if (this.#failure === undefined)
      process.stderr.write(
        `ringrun: writing ${this.path} failed (${error.message}). Training continues without TensorBoard values until it can be written again.\n`,
      );
    this.#failure = error;
    // If this fails too, the next write repeats it.
    this.#isTorn ||= this.#written > bytes;
    await this.#cutIfTorn().catch(() => undefined);
  }

  #recordSuccess(): void {
    if (this.#failure === undefined) return;
    process.stderr.write(
      `ringrun: ${this.path} can be written again; ${this.#lost} TensorBoard records are lost.\n`,
    );
    this.#failure = undefined;
    this.#lost = 0;
  }
}

/**
 * The path of a new file that is the last one of its folder by name. Creates the folder.
 *
 * @param now Seconds since the epoch.
 * @throws the file system's error if the folder cannot be created or read
 */
export function eventFilePath(folder: string, now: number, suffix: string): string {
  makeFolderSync(folder);
  return join(folder, nextEventFileName(secondsAfter(readdirSync(folder), now), suffix));
}
