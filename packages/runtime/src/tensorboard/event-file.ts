import { createWriteStream, openSync, type WriteStream } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { makeFolderSync } from '../storage/make-folder.ts';
import { recordOf } from './record.ts';

let filesOfThisProcess = 0;

/** A name that no other process, host or file of this process has, and that sorts by time: `events.out.tfevents.<seconds>.<host>.<pid>.<n>`. */
export function nextEventFileName(seconds: number, suffix: string): string {
  const time = Math.floor(seconds).toString().padStart(10, '0');
  const number = filesOfThisProcess++;
  return `events.out.tfevents.${time}.${hostname()}.${process.pid}.${number}${suffix}`;
}

/**
 * A file of records that grows. It is opened at once, so that a folder that cannot be written to is an error before training begins. Records are written behind the
 * caller's back. The first that cannot be written (a full disk) is told on stderr, once, and ends the file: a training run is worth more than its log. What was
 * written before stays readable.
 */
export class EventFile {
  readonly path: string;
  readonly #stream: WriteStream;
  #failure: Error | undefined;

  /** @throws the file system's error where the folder cannot be made or the file not be opened */
  constructor(path: string) {
    this.path = path;
    makeFolderSync(dirname(path));
    this.#stream = createWriteStream(path, { fd: openSync(path, 'a') });
    // An error comes to the callbacks of the writes first, and as an event; without a listener that would end the process.
    this.#stream.on('error', this.#noteFailure);
  }

  /** Why nothing is written any more; undefined while all is well. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  append(bytes: Uint8Array): void {
    if (this.#failure === undefined) this.#stream.write(recordOf(bytes), this.#noteFailure);
  }

  /** Resolves when the operating system has everything, or the file has failed. */
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

  readonly #noteFailure = (error: Error | null | undefined): void => {
    if (!error || this.#failure) return;
    this.#failure = error;
    process.stderr.write(
      `ringrun: ${this.path} could not be written to (${error.message}). Training goes on; what is logged from now on is lost. (said once per file)\n`,
    );
  };
}

export function eventFilePath(folder: string, seconds: number, suffix: string): string {
  return join(folder, nextEventFileName(seconds, suffix));
}
