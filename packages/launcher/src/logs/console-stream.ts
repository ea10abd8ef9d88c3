import { write } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const writeSome = promisify(write);

/** Milliseconds between two writes to a full pipe that is non-blocking. */
const fullAgainMs = 10;

/**
 * The launcher's stdout or stderr. Writes whole chunks one after the other, so that lines of workers do not mix.
 *
 * If the reader pauses, a thread of the pool waits, and not the event loop, on which the launcher watches its workers.
 * After the reader has closed the stream, output is dropped.
 */
export class ConsoleStream {
  readonly #descriptor: number;
  #written: Promise<void> = Promise.resolve();
  #isGone = false;

  constructor(descriptor: 1 | 2) {
    this.#descriptor = descriptor;
  }

  /** Resolves when `bytes` are written; a caller that awaits it keeps at most one chunk in memory. Never rejects. */
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
