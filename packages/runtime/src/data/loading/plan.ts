import type { DataPass, DataShare } from '../dataset.ts';
import type { Wanted } from '../workers/messages.ts';

/** Which batches to request of which reader (a worker thread, or the loop's thread), in the order of the loop. */
export interface Plan {
  /** The next request; undefined at the end. */
  next(): { reader: number; wanted: Wanted } | undefined;
  /** Number of the next batches that are passed over, because the loop has already received them. */
  readonly skips: number;
  /** Reports that the reader's share is over. */
  ended(reader: number): void;
  /** Reports that one of the `skips` batches has been passed over. */
  skipped(): void;
}

/** Batches of given indices, of each reader in turn. */
export class IndexPlan implements Plan {
  readonly skips = 0;
  readonly #batches: Iterator<readonly number[], undefined>;
  readonly #pass: DataPass;
  readonly #readers: number;
  #requests = 0;

  constructor(batches: Iterator<readonly number[], undefined>, pass: DataPass, readers: number) {
    this.#batches = batches;
    this.#pass = pass;
    this.#readers = readers;
  }

  next() {
    const { value: indices } = this.#batches.next();
    if (!indices) return undefined;
    const reader = this.#requests % this.#readers;
    this.#requests += 1;
    return { reader, wanted: { indices, pass: this.#pass } };
  }

  ended(): void {
    throw new Error('a batch of given indices has no end');
  }

  skipped(): void {
    throw new Error('a batch of given indices is not skipped');
  }
}

/**
 * A batch of each reader in turn, without those whose share is over: in an order that does not depend on read-ahead.
 */
export class StreamPlan implements Plan {
  skips: number;
  readonly #shares: readonly DataShare[];
  readonly #options: { batchSize: number; dropLast: boolean };
  readonly #begun = new Set<number>();
  /** Readers in the order of their turns. */
  #turns: number[];

  constructor(
    shares: readonly DataShare[],
    { skips, ...options }: { batchSize: number; dropLast: boolean; skips: number },
  ) {
    this.#shares = shares;
    this.#options = options;
    this.skips = skips;
    this.#turns = shares.map((_, reader) => reader);
  }

  next() {
    const reader = this.#turns.shift();
    if (reader === undefined) return undefined;
    this.#turns.push(reader);
    const { batchSize, dropLast } = this.#options;
    const begin = this.#begun.has(reader) ? undefined : { share: this.#shares[reader], batchSize };
    this.#begun.add(reader);
    return { reader, wanted: { begin, skip: this.skips > 0, dropLast } };
  }

  ended(reader: number): void {
    this.#turns = this.#turns.filter((other) => other !== reader);
  }

  skipped(): void {
    this.skips -= 1;
  }
}
