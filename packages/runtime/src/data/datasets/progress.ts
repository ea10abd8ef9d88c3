import { basename } from 'node:path/posix';
import type { SingleBar } from 'cli-progress';
import { whenUsed } from '../../when-used.ts';

const bars = whenUsed('cli-progress') as () => typeof import('cli-progress');

/** Shows how far a download is. */
export interface DownloadProgress {
  /** A file of `bytes` begins, 0 when the server does not say how many. */
  begin(url: URL, bytes: number): void;
  /** `bytes` more have come. */
  advance(bytes: number): void;
  /** The file is complete or was given up. Without a `begin` before it does nothing. */
  end(): void;
}

/** A stream that may be a terminal. */
export type Output = NodeJS.WritableStream & { isTTY?: boolean };

/** A bar where `stream` is a terminal, plain lines that begin with `title` where it is not. */
export function progressOn(stream: Output, title: string): DownloadProgress {
  return stream.isTTY ? new ProgressBar(stream) : new ProgressLines(stream, title);
}

class ProgressBar implements DownloadProgress {
  readonly #bar: SingleBar;

  constructor(stream: Output) {
    this.#bar = new (bars().SingleBar)({
      stream,
      format: '{file} [{bar}] {percentage}% of {size}, {eta_formatted} left',
      // Its handler of SIGINT and SIGTERM would make the process outlive the first Ctrl-C.
      gracefulExit: false,
    });
  }

  begin(url: URL, bytes: number): void {
    this.#bar.start(bytes, 0, { file: basename(url.pathname), size: megabytes(bytes) });
  }

  advance(bytes: number): void {
    this.#bar.increment(bytes);
  }

  end(): void {
    if (this.#bar.isActive) this.#bar.stop();
  }
}

/** One line when a file begins, and one every 5 s while it comes. */
class ProgressLines implements DownloadProgress {
  readonly #stream: Output;
  readonly #title: string;
  #received = 0;
  #bytes = 0;
  #nextLineAt = 0;

  constructor(stream: Output, title: string) {
    this.#stream = stream;
    this.#title = title;
  }

  begin(url: URL, bytes: number): void {
    this.#received = 0;
    this.#bytes = bytes;
    this.#print(`downloading ${url.href} (${megabytes(bytes)})`);
  }

  advance(bytes: number): void {
    this.#received += bytes;
    if (performance.now() < this.#nextLineAt) return;
    this.#print(`${megabytes(this.#received)} of ${megabytes(this.#bytes)}`);
  }

  end(): void {
    this.#nextLineAt = 0;
  }

  #print(text: string): void {
    this.#stream.write(`${this.#title}: ${text}\n`);
    this.#nextLineAt = performance.now() + 5000;
  }
}

function megabytes(bytes: number): string {
  return bytes > 0 ? `${(bytes / 1e6).toFixed(2)} MB` : 'unknown size';
}
