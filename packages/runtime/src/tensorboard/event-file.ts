import { createWriteStream, openSync, readdirSync, type WriteStream } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { makeFolderSync } from '@ringrun/core';
import { encodeTfRecord } from './tfrecord.ts';

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
 * starts. Records are written asynchronously. The first failed write (such as on a full disk) is logged once
 * and ends the file, but not training. Earlier records stay readable.
 */
export class EventFile {
  readonly path: string;
  readonly #stream: WriteStream;
  #failure: Error | undefined;

  /** @throws the file system's error if the folder cannot be created or the file cannot be opened */
  constructor(path: string) {
    this.path = path;
    makeFolderSync(dirname(path));
    this.#stream = createWriteStream(path, { fd: openSync(path, 'a') });
    // Callbacks of writes receive the error first. The event needs a listener too, or it would end the
    // process.
    this.#stream.on('error', this.#recordFailure);
  }

  /** The error that ended the file; undefined while it works. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  append(bytes: Uint8Array): void {
    if (this.#failure === undefined) this.#stream.write(encodeTfRecord(bytes), this.#recordFailure);
  }

  /** Resolves when all records have been written to the operating system, or the file has failed. */
  async flush(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#stream.write(new Uint8Array(0), () => {
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    await this.flush();
    if (this.#stream.destroyed) return;
    await new Promise<void>((resolve) => {
      this.#stream.end(resolve);
    });
  }

  readonly #recordFailure = (error: Error | null | undefined): void => {
    if (!error || this.#failure) return;
    this.#failure = error;
    process.stderr.write(
      `ringrun: writing ${this.path} failed (${error.message}). Training continues; further TensorBoard values are lost. (Printed once per file.)\n`,
    );
  };
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
