import { InvalidArgumentError, requireInteger, requireSeed } from '@ringrun/core';
import { below } from './random.ts';
import { randperm } from './randperm.ts';
import { checkedState } from './sampler-state.ts';
import type { DatasetOrder, EpochPass, SamplerState, StatefulSampler } from './sampler-state.ts';
import { countOf, positionOf, seenAfter } from './share.ts';
import type { Share } from './share.ts';

export interface SharedOrderOptions extends Partial<Share>, ReplacementOptions {
  datasetLength: number;
  shuffle: boolean;
  seed?: number;
}

/** The options of samplers that draw with replacement. */
export interface ReplacementOptions {
  /**
   * Draw each index independently, so that a sample may occur several times in an epoch or not at all (torch's
   * `replacement`). No permutation is made, so a dataset may have any length. Default: false.
   */
  replacement?: boolean | undefined;
  /** Indices of all ranks together in an epoch; only with `replacement`. Default: the length of the dataset. */
  numSamples?: number | undefined;
}

/** A position within an epoch. */
type EpochPosition = Pick<SamplerState, 'epoch' | 'samplesSeen'>;

/**
 * Base class of ringrun's samplers: one order of a dataset per epoch, and one rank's share of it.
 *
 * Ranks take turns in the order, so the samples used by all ranks together are always its start. One number
 * is therefore enough to resume on any number of ranks.
 */
export class SharedOrder implements StatefulSampler {
  /** Number of this rank's indices per epoch. */
  readonly length: number;
  readonly #owner: string;
  readonly #datasetLength: number;
  /** Undefined without replacement. */
  readonly #numSamples: number | undefined;
  /** Length of the order, which differs from the dataset's length with replacement. */
  readonly #share: Share;
  readonly #shuffle: boolean;
  #seed: number;
  /** The start of the next iteration. */
  #next: EpochPosition = { epoch: 0, samplesSeen: 0 };
  /** The latest iteration, or undefined if `#next` was set since. */
  #pass: Pass | undefined;

  constructor(owner: string, options: SharedOrderOptions) {
    const who = owner;
    const numReplicas = requireInteger(options.numReplicas ?? 1, { who, what: 'numReplicas', min: 1 });
    const rank = requireInteger(options.rank ?? 0, { who, what: 'rank', min: 0, max: numReplicas - 1 });
    const { datasetLength, tail = 'repeat the first' } = options;
    this.#owner = owner;
    this.#seed = requireSeed(options.seed ?? 0, who);
    this.#shuffle = options.shuffle;
    this.#datasetLength = datasetLength;
    this.#numSamples = drawnPerEpoch(options, who);
    this.#share = { datasetLength: this.#numSamples ?? datasetLength, numReplicas, rank, tail };
    this.length = countOf(this.#share, 0);
  }

  /**
   * Sets the epoch of the next iteration, an integer of at least 0; later iterations follow. It starts at its first
   * sample, or at the position of a loaded state if that state belongs to the same epoch.
   */
  setEpoch(epoch: number): void {
    requireInteger(epoch, { who: `${this.#owner}.setEpoch`, what: 'epoch', min: 0 });
    if (!this.#pass && this.#next.epoch === epoch) return;
    this.#startAt({ epoch, samplesSeen: 0 });
  }

  /**
   * Returns the progress of the job as plain data, the same on every rank at the same step. (With
   * `evenDivisible: false` use rank 0's, since other ranks may finish first.) During an iteration it counts
   * the indices yielded, or, with a DataLoader, those of the batches passed to its loop. After an iteration
   * it is the start of the next epoch.
   */
  stateDict(): SamplerState {
    const { epoch, samplesSeen } = this.#pass?.position ?? this.#next;
    return { epoch, samplesSeen, seed: this.#seed, ...this.#order };
  }

  /**
   * The next iteration visits the unused samples of the state's epoch, on any number of ranks. The state's
   * seed is used from then on. Throws `InvalidArgumentError`, and changes nothing, for a state of another
   * dataset or order.
   */
  loadStateDict(state: SamplerState): void {
    const { epoch, samplesSeen, seed } = checkedState(state, this.#order, this.#owner);
    this.#seed = seed;
    this.#startAt({ epoch, samplesSeen });
  }

  /** Starts the next epoch. Yields this rank's indices of it. */
  [Symbol.iterator](): EpochPass {
    const start = this.#next;
    this.#pass = new Pass(start, this.#share, this.#seed, this.#indicesOf(start.epoch));
    this.#next = { epoch: start.epoch + 1, samplesSeen: 0 };
    return this.#pass;
  }

  get #order(): DatasetOrder {
    const replaced = this.#numSamples === undefined ? {} : { numSamples: this.#numSamples };
    return { shuffle: this.#shuffle, datasetLength: this.#datasetLength, ...replaced };
  }

  /** Returns the index at each position of an epoch's order. */
  #indicesOf(epoch: number): (position: number) => number {
    const [length, seed] = [this.#datasetLength, this.#seed];
    if (this.#numSamples !== undefined) return (position) => below(length, seed, epoch, position);
    if (!this.#shuffle) return (position) => position;
    const order = randperm(length, orderSeed(seed, epoch));
    return (position) => order[position];
  }

  #startAt(position: EpochPosition): void {
    this.#next = position;
    this.#pass = undefined;
  }
}

/** Undefined without replacement. */
function drawnPerEpoch(options: SharedOrderOptions, who: string): number | undefined {
  const { datasetLength, shuffle, replacement = false, numSamples } = options;
  if (!replacement) {
    if (numSamples === undefined) return undefined;
    throw new InvalidArgumentError(
      `${who}: numSamples: expected it together with replacement: true, got ${numSamples} alone. Pass both, or neither.`,
    );
  }
  if (!shuffle) {
    throw new InvalidArgumentError(
      `${who}: got replacement: true, which draws at random, and shuffle: false. Leave out one of them.`,
    );
  }
  const count = requireInteger(numSamples ?? datasetLength, { who, what: 'numSamples', min: 0 });
  if (count === 0 || datasetLength > 0) return count;
  throw new InvalidArgumentError(
    `${who}: expected a dataset with samples to draw ${count} from, got one of length 0.`,
  );
}

/** Exact like Python's integers; a double is exact only up to 2^53. */
function orderSeed(seed: number, epoch: number): bigint {
  return BigInt(seed) + BigInt(epoch);
}

class Pass implements EpochPass {
  readonly epoch: number;
  readonly seed: number;
  readonly #seenBefore: number;
  readonly #share: Share;
  readonly #indexAt: (position: number) => number;
  readonly #count: number;
  #yielded = 0;
  #used: number | undefined;
  #finished = false;

  constructor(
    { epoch, samplesSeen }: EpochPosition,
    share: Share,
    seed: number,
    indexAt: (position: number) => number,
  ) {
    this.epoch = epoch;
    this.seed = seed;
    this.#seenBefore = samplesSeen;
    this.#share = share;
    this.#indexAt = indexAt;
    this.#count = countOf(share, samplesSeen);
  }

  get position(): EpochPosition {
    if (this.#finished) return { epoch: this.epoch + 1, samplesSeen: 0 };
    const samplesSeen = seenAfter(this.#share, this.#seenBefore, this.#used ?? this.#yielded);
    return { epoch: this.epoch, samplesSeen };
  }

  setUsed(used: number): void {
    this.#used = used;
  }

  finish(): void {
    this.#finished = true;
  }

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<number, undefined> {
    if (this.#yielded === this.#count) {
      if (this.#used === undefined) this.finish();
      return { done: true, value: undefined };
    }
    const position = positionOf(this.#share, this.#seenBefore, this.#yielded);
    this.#yielded += 1;
    return { done: false, value: this.#indexAt(position) };
  }
}
