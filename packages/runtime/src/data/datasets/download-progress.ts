import { withoutCredentials } from '@ringrun/core';
import { basename } from 'node:path/posix';
import type { SingleBar } from 'cli-progress';
import type { Output } from '@ringrun/core';
import { whenUsed } from '../../when-used.ts';

const bars = whenUsed('cli-progress') as () => typeof import('cli-progress');

/** Displays the progress of a download. */
export interface DownloadProgress {
  /** Starts a file of `bytes` bytes; 0 if the size is unknown. */
  begin(url: URL, bytes: number): void;
  /** Adds received bytes. */
  advance(bytes: number): void;
  /** Ends the file, complete or not. Does nothing without a preceding `begin`. */
  end(): void;
}

/** Returns a progress bar if `stream` is a terminal; otherwise prints lines that start with `title`. */
export function downloadProgressOn(stream: Output, title: string): DownloadProgress {
  return stream.isTTY ? new DownloadBar(stream) : new DownloadLines(stream, title);
}

class DownloadBar implements DownloadProgress {
  readonly #bar: SingleBar;

  constructor(stream: Output) {
    this.#bar = new (bars().SingleBar)({
      stream,
      format: '{file} [{bar}] {percentage}% of {size}, {eta_formatted} left',
      // Its handler of SIGINT and SIGTERM would keep the process alive after the first Ctrl-C.
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

/** Prints one line at the start of a file, and one every 5 s. */
class DownloadLines implements DownloadProgress {
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
    this.#print(`downloading ${withoutCredentials(url.href)} (${megabytes(bytes)})`);
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
