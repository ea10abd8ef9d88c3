import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { ConsoleStream } from './console-stream.ts';
import { PrefixedLines } from './prefixed-lines.ts';

/** Bytes per read. A stream uses this much memory of the launcher, plus its last line. */
const pieceBytes = 64 * 1024;

/** Milliseconds between two reads of a file without new output (as torch). */
const lookAgainMs = 100;

/**
 * Prints on the console the output that a worker writes to a file. Because of the file, a slow console does not block
 * the worker, and a worker that dies leaves all its output. Polls the file, because not every file system reports
 * changes.
 */
export class Tail {
  readonly #ended: Promise<void>;
  readonly #finish = new AbortController();

  constructor(path: string, prefix: string, console: ConsoleStream) {
    this.#ended = this.#show(path, new PrefixedLines(prefix), console);
  }

  /** Call after the last write. Resolves when the console shows everything. Never rejects. */
  async finish(): Promise<void> {
    this.#finish.abort();
    await this.#ended;
  }

  async #show(path: string, lines: PrefixedLines, console: ConsoleStream): Promise<void> {
    try {
      const file = await open(path, 'r');
      await this.#follow(file, lines, console).finally(() => file.close());
    } catch (error) {
      await console.write(
        Buffer.from(`ringrun: cannot show ${path} any more: ${(error as Error).message}\n`),
      );
    }
  }

  async #follow(file: FileHandle, lines: PrefixedLines, console: ConsoleStream): Promise<void> {
    const piece = Buffer.allocUnsafe(pieceBytes);
    for (;;) {
      // Checked before the read, so that output written before `finish` is read in this iteration or a later one.
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

  /** Resolves early if `finish` is called. */
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
