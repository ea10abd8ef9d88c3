import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { ConsoleStream } from './console-stream.ts';
import { PrefixedLines } from './prefixed-lines.ts';

/** Bytes that are read at once: all that a stream takes of the launcher's memory, and its last line. */
const pieceBytes = 64 * 1024;

/** Milliseconds between two looks at a file in which there was nothing new (torch's interval). */
const lookAgainMs = 100;

/**
 * Shows on the console what a worker writes to a file. The file stands between them, so that the console can hold up no worker, and a worker that dies
 * leaves all that it wrote. Looks at the file from time to time: not every file system tells of changes.
 */
export class Tail {
  readonly #ended: Promise<void>;
  readonly #finish = new AbortController();

  constructor(path: string, prefix: string, console: ConsoleStream) {
    this.#ended = this.#show(path, new PrefixedLines(prefix), console);
  }

  /** Nobody writes any more: resolves when everything is shown. Never rejects. */
  async finish(): Promise<void> {
    this.#finish.abort();
    await this.#ended;
  }

  async #show(path: string, lines: PrefixedLines, console: ConsoleStream): Promise<void> {
    try {
      const file = await open(path, 'r');
      await this.#follow(file, lines, console).finally(() => file.close());
    } catch (error) {
      await console.write(Buffer.from(`ringrun: ${path} is shown no longer: ${(error as Error).message}\n`));
    }
  }

  async #follow(file: FileHandle, lines: PrefixedLines, console: ConsoleStream): Promise<void> {
    const piece = Buffer.allocUnsafe(pieceBytes);
    for (;;) {
      // Asked before the read: what was written before it is read in this round or a later one.
      const isLast = this.#finish.signal.aborted;
      const { bytesRead } = await file.read(piece, 0, pieceBytes, null);
      if (bytesRead > 0) {
        await console.write(lines.push(piece.subarray(0, bytesRead)));
        continue;
      }
      await console.write(isLast ? lines.end() : lines.pause());
      if (isLast) return;
      await this.#untilNextLook();
    }
  }

  /** Short where the workers end meanwhile. */
  #untilNextLook(): Promise<void> {
    const { signal } = this.#finish;
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, lookAgainMs);
      signal.addEventListener('abort', wake);
      if (signal.aborted) wake();
    });
  }
}
