import type { BatchMemory, DataShare, IterableDataset } from './dataset.ts';

/** Reads the batches of one share of an iterable dataset. Calls may overlap: batches are read in the order of calls. */
export class SampleStream<Sample, Item = Sample> {
  /** Whether reading waits for I/O. */
  readonly isAsynchronous: boolean;
  readonly #dataset: IterableDataset<Sample, Item>;
  readonly #share: DataShare;
  readonly #batchSize: number;
  readonly #items: AsyncIterator<Item> | Iterator<Item>;
  /** Settles when the items of all batches requested so far have been read. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(dataset: IterableDataset<Sample, Item>, share: DataShare, batchSize: number) {
    this.#dataset = dataset;
    this.#share = share;
    this.#batchSize = batchSize;
    const items = dataset.iterate(share);
    this.isAsynchronous = Symbol.asyncIterator in items;
    this.#items = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  }

  /** The next samples: `batchSize` of them, fewer at the end, and none after it. */
  async next(memory?: BatchMemory): Promise<Sample[]> {
    const items = await this.#read();
    const { seed, epoch } = this.#share;
    if (items.length === 0 || !this.#dataset.batch) return items as unknown as Sample[];
    return await this.#dataset.batch(items, { seed, epoch }, memory);
  }

  /** Skips a batch without creating it. Returns its number of samples. */
  async skip(): Promise<number> {
    return (await this.#read()).length;
  }

  /** Ends the dataset's iterator, which may have files or connections open. */
  async end(): Promise<void> {
    await this.#items.return?.();
  }

  #read(): Promise<Item[]> {
    const items = this.#reading.then(() => this.#readBatch());
    this.#reading = items.catch(() => undefined);
    return items;
  }

  async #readBatch(): Promise<Item[]> {
    const items: Item[] = [];
    while (items.length < this.#batchSize) {
      const next = await this.#items.next();
      if (next.done) break;
      items.push(next.value);
    }
    return items;
  }
}
