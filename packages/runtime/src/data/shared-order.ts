import { randperm } from './randperm.ts';
import { requireInteger, requireSeed } from './require-integer.ts';
import { checkedState } from './sampler-state.ts';
import type { EpochPass, SamplerState, StatefulSampler } from './sampler-state.ts';
import { countOf, positionOf, seenAfter } from './share.ts';
import type { Share } from './share.ts';

export interface SharedOrderOptions extends Partial<Share> {
  datasetLength: number;
  shuffle: boolean;
  seed?: number;
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
    this.#share = { datasetLength, numReplicas, rank, tail };
    this.length = countOf(this.#share, 0);
  }

  /**
   * Sets the epoch of the next iteration, an integer of at least 0; later iterations follow. It starts at its
   * first sample, or at the position of a loaded state if that is of the same epoch.
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
    const { datasetLength } = this.#share;
    return { epoch, samplesSeen, seed: this.#seed, shuffle: this.#shuffle, datasetLength };
  }

  /**
   * The next iteration visits the unused samples of the state's epoch, on any number of ranks. The state's
   * seed is used from then on. Throws `InvalidArgumentError`, and changes nothing, for a state of another
   * dataset or order.
   */
  loadStateDict(state: SamplerState): void {
    const { datasetLength } = this.#share;
    const { epoch, samplesSeen, seed } = checkedState(
      state,
      { datasetLength, shuffle: this.#shuffle },
      this.#owner,
    );
    this.#seed = seed;
    this.#startAt({ epoch, samplesSeen });
  }

  /** Starts the next epoch. Yields this rank's indices of it. */
  [Symbol.iterator](): EpochPass {
    const start = this.#next;
    const { datasetLength } = this.#share;
    const order = this.#shuffle ? randperm(datasetLength, orderSeed(this.#seed, start.epoch)) : undefined;
    this.#pass = new Pass(start, this.#share, this.#seed, order);
    this.#next = { epoch: start.epoch + 1, samplesSeen: 0 };
    return this.#pass;
  }

  #startAt(position: EpochPosition): void {
    this.#next = position;
    this.#pass = undefined;
  }
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
  readonly #order: Uint32Array | undefined;
  readonly #count: number;
  #yielded = 0;
  #used: number | undefined;
  #finished = false;

  constructor(
    { epoch, samplesSeen }: EpochPosition,
    share: Share,
    seed: number,
    order: Uint32Array | undefined,
  ) {
    this.epoch = epoch;
    this.seed = seed;
    this.#seenBefore = samplesSeen;
    this.#share = share;
    this.#order = order;
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
    return { done: false, value: this.#order ? this.#order[position] : position };
  }
}
