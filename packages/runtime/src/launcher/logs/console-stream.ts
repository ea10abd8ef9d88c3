import { write } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const writeSome = promisify(write);

/** Milliseconds until a pipe that is full, and that somebody has made non-blocking, is tried again. */
const fullAgainMs = 10;

/**
 * The launcher's stdout or stderr, for the lines of workers. Whole pieces, one after the other, so that lines of several workers do not mix.
 *
 * Whoever reads the console may stop for a while: then a thread of the pool waits and not the event loop, on which the launcher watches its workers.
 * When the reader is gone, what comes is dropped.
 */
export class ConsoleStream {
  readonly #descriptor: number;
  #written: Promise<void> = Promise.resolve();
  #isGone = false;

  constructor(descriptor: 1 | 2) {
    this.#descriptor = descriptor;
  }

  /** Resolves when `bytes` are written: who waits for it holds no more than one piece in memory. Never rejects. */
  write(bytes: Uint8Array): Promise<void> {
    if (bytes.length > 0) this.#written = this.#written.then(() => this.#writeAll(bytes));
    return this.#written;
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0 && !this.#isGone;) {
      try {
        const { bytesWritten } = await writeSome(this.#descriptor, rest);
        rest = rest.subarray(bytesWritten);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') await delay(fullAgainMs);
        else this.#isGone = true;
      }
    }
  }
}
