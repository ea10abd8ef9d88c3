import { givenPath } from '@ringrun/core';
import type { Dataset, WorkerDataset } from '../../dataset.ts';
import { newline, startsOfLines } from './lines.ts';
import { mappedFile } from './mapped-file.ts';

const carriageReturn = 0x0d;

/**
 * The lines of a UTF-8 text file. Sample `i` is line `i` as a string, without its `\n` or `\r\n`. Convert lines to
 * tokens in a `collateFn`, or in a dataset of your own that reads from this one.
 *
 * The file is mapped into memory, so it may be larger than that, and worker threads and ranks of a host share its
 * pages. Only the offsets of the lines are kept, 8 bytes each. The file must not be truncated meanwhile.
 */
export class TextDataset implements Dataset<string> {
  readonly length: number;
  readonly #path: string;
  readonly #bytes: Buffer;
  /** Offset of each line, and of the end of the last one. Shared with worker threads. */
  readonly #starts: Float64Array<SharedArrayBuffer>;

  /**
   * Reads the whole file once, to find its lines.
   *
   * @param path a file's path or URL
   * @param starts offsets of the lines, and the length of the file, if they are known, as in worker threads. Default:
   * the file is searched for them.
   * @throws StorageError for a file that cannot be read
   */
  constructor(path: string | URL, starts?: Float64Array<SharedArrayBuffer>) {
    this.#path = givenPath(path, 'TextDataset');
    const { buffer } = mappedFile(this.#path);
    this.#bytes = Buffer.from(buffer);
    this.#starts = starts ?? startsOfLines(this.#bytes);
    this.length = this.#starts.length - 1;
  }

  /** Returns the line at `index`. Throws a `RangeError` if `index` is out of range. */
  at(index: number): string {
    if (!(index in this.#starts) || index === this.length)
      throw new RangeError(
        `TextDataset: ${this.#path}: expected an index from 0 to ${this.length - 1}, got ${index}.`,
      );
    const begin = this.#starts[index];
    let end = this.#starts[index + 1];
    if (end > begin && this.#bytes[end - 1] === newline) end -= 1;
    if (end > begin && this.#bytes[end - 1] === carriageReturn) end -= 1;
    return this.#bytes.toString('utf8', begin, end);
  }

  /** A thread maps the file again, which shares its pages, and receives the offsets of the lines from this one. */
  forWorkers(): WorkerDataset {
    return { module: import.meta.url, args: [this.#path, this.#starts] };
  }
}

/** Called by worker threads. */
export function createDataset(path: string, starts: Float64Array<SharedArrayBuffer>): TextDataset {
  return new TextDataset(path, starts);
}
