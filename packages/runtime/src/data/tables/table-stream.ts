import { InvalidArgumentError, requireInteger } from '@ringrun/core';
import type { DataShare } from '../dataset.ts';
import { Random, mixed } from '../random.ts';
import { shardsInOrder, shareOfShards } from '../shards/share-of-shards.ts';
import { shuffled } from '../shards/shuffled.ts';
import { partsOf } from './table-format.ts';
import type { TableFormat, TablePart } from './table-format.ts';
import { tableFiles } from './table-files.ts';
import type { TableRow } from './table-row.ts';

/** Order of the rows of a table that is read from start to end. */
export interface TableStreamOptions {
  /** Visit parts and rows in a random order, a new one in each epoch. Default: false. */
  shuffle?: boolean;
  /** Rows among which the next one is chosen at random, at least 1; only with `shuffle`. Default: 1000. */
  bufferSize?: number;
}

/** Names of the options, to check and to split them. */
export const tableStreamOptionNames = { shuffle: true, bufferSize: true } as const;

/** Checks the options of the order. */
export function requireStreamOptions(who: string, { shuffle = false, bufferSize }: TableStreamOptions): void {
  if (bufferSize === undefined) return;
  requireInteger(bufferSize, { who, what: 'bufferSize', min: 1 });
  if (!shuffle)
    throw new InvalidArgumentError(`${who}: got bufferSize without shuffle: true. Pass both, or neither.`);
}

/**
 * The rows of a table that ranks and workers share, part by part.
 *
 * If there are at least as many parts as readers, each part belongs to one reader. Otherwise each reader reads all parts,
 * and keeps every `count`-th row.
 */
export class TableStream<Part extends TablePart> {
  readonly #format: TableFormat<Part>;
  readonly #files: () => Promise<string[]>;
  readonly #shuffle: boolean;
  readonly #bufferSize: number;
  /** Found by the first iteration. */
  #parts: Promise<Part[]> | undefined;

  constructor(
    format: TableFormat<Part>,
    files: { who: string; patterns: readonly string[]; extensions: readonly string[] },
    { shuffle = false, bufferSize = 1000 }: TableStreamOptions,
  ) {
    this.#format = format;
    this.#files = () => tableFiles(files.who, files.patterns, files.extensions);
    this.#shuffle = shuffle;
    this.#bufferSize = bufferSize;
  }

  /** Yields the rows of one share. */
  async *iterate(share: DataShare): AsyncGenerator<TableRow, void> {
    this.#parts ??= this.#files().then((files) => partsOf(this.#format, files));
    const parts = shardsInOrder(await this.#parts, share, this.#shuffle);
    const isDealt = parts.length < share.count;
    const rows = this.#rowsOf(isDealt ? parts : shareOfShards(parts, share));
    const own = isDealt ? everyNth(rows, share) : rows;
    if (!this.#shuffle) yield* own;
    else yield* shuffled(own, this.#bufferSize, new Random(mixed(share.seed, share.epoch, share.index)));
  }

  /** Reads the next part while the rows of this one are used. */
  async *#rowsOf(parts: readonly Part[]): AsyncGenerator<TableRow, void> {
    let next = this.#begin(parts[0]);
    for (const [index] of parts.entries()) {
      const rows = await next!;
      next = this.#begin(parts[index + 1]);
      yield* rows;
    }
  }

  #begin(part: Part | undefined): ReturnType<TableFormat<Part>['rows']> | undefined {
    if (part === undefined) return undefined;
    const reading = this.#format.rows(part);
    // Reported when its turn comes.
    reading.catch(() => undefined);
    return reading;
  }
}

async function* everyNth(
  rows: AsyncIterable<TableRow>,
  { index, count }: DataShare,
): AsyncGenerator<TableRow, void> {
  let position = 0;
  for await (const row of rows) {
    if (position % count === index) yield row;
    position += 1;
  }
}
