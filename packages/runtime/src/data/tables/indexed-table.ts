import type { CountedPart, IndexedFormat, PartRows } from './table-format.ts';
import type { TableRow } from './table-row.ts';

/** The rows of a table by their index, with a cache of the parts that were used last. */
export class IndexedTable<Part extends CountedPart> {
  readonly length: number;
  readonly #who: string;
  readonly #format: IndexedFormat<Part>;
  readonly #parts: readonly Part[];
  /** Number of rows up to the end of each part. */
  readonly #ends: Float64Array;
  readonly #cacheBytes: number;
  /** In the order of their last use. */
  readonly #cache = new Map<number, Promise<PartRows>>();
  #cachedBytes = 0;

  constructor(
    who: string,
    format: IndexedFormat<Part>,
    parts: readonly Part[],
    { cacheBytes }: { cacheBytes: number },
  ) {
    this.#who = who;
    this.#format = format;
    this.#parts = parts;
    this.#cacheBytes = cacheBytes;
    let end = 0;
    this.#ends = Float64Array.from(parts, ({ rows }) => (end += rows));
    this.length = end;
  }

  /** Rejects with a `RangeError` for an index out of range. */
  async at(index: number): Promise<TableRow> {
    if (!Number.isInteger(index) || index < 0 || index >= this.length)
      throw new RangeError(`${this.#who}: expected an index from 0 to ${this.length - 1}, got ${index}.`);
    const part = this.#partOf(index);
    const rows = await this.#rowsOf(part);
    return rows.at(index - (this.#ends[part] - this.#parts[part].rows));
  }

  /** The rows at several indices. The parts are read at the same time. */
  async batch(indices: readonly number[]): Promise<TableRow[]> {
    return await Promise.all(indices.map((index) => this.at(index)));
  }

  /** The part with a row: the first one that ends after it. */
  #partOf(index: number): number {
    let [low, high] = [0, this.#ends.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#ends[middle] > index) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #rowsOf(part: number): Promise<PartRows> {
    const cached = this.#cache.get(part);
    const rows = cached ?? this.#format.read(this.#parts[part]);
    if (cached === undefined) this.#cachedBytes += this.#parts[part].bytes;
    this.#cache.delete(part);
    this.#cache.set(part, rows);
    for (const [oldest] of this.#cache) {
      if (this.#cachedBytes <= this.#cacheBytes || oldest === part) break;
      this.#forget(oldest);
    }
    // A failed read is tried again.
    rows.catch(() => {
      if (this.#cache.get(part) === rows) this.#forget(part);
    });
    return rows;
  }

  #forget(part: number): void {
    this.#cache.delete(part);
    this.#cachedBytes -= this.#parts[part].bytes;
  }
}
