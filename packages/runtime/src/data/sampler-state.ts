import { InvalidArgumentError, requireInteger, requireSeed } from '@ringrun/core';

/** Selects and orders the samples of a dataset. Each iteration yields the indices of one epoch. */
export interface Sampler extends Iterable<number> {
  /** Number of indices per epoch. */
  readonly length: number;
}

/** Progress of all ranks together within an epoch, as plain data for checkpoints. The same on every rank. */
export interface SamplerState {
  /** From 0. */
  epoch: number;
  /** Number of samples of this epoch that all ranks together have used; always the first ones of the order. */
  samplesSeen: number;
  /** Seed of the sampler. The order is drawn from `seed + epoch`. */
  seed: number;
  /** True if the order is random, false if it is the dataset's own. */
  shuffle: boolean;
  /** Number of samples in the dataset. */
  datasetLength: number;
  /** Indices drawn per epoch by all ranks together; undefined without replacement. */
  numSamples?: number;
}

/** A sampler that can resume from the state of another sampler of the same dataset, on any number of ranks. */
export interface StatefulSampler extends Sampler {
  /** Starts the next epoch, or continues the one of a loaded state. */
  [Symbol.iterator](): EpochPass;
  /** The progress of all ranks within the current epoch. */
  stateDict(): SamplerState;
  /** The next iteration visits the rest of the epoch of `state`. */
  loadStateDict(state: SamplerState): void;
}

/** One iteration of a stateful sampler. */
export interface EpochPass extends IterableIterator<number> {
  /** Number of the epoch, from 0. */
  readonly epoch: number;
  /** Seed of the sampler. The order is drawn from `seed + epoch`. */
  readonly seed: number;
  /**
   * A caller that prefetches reports the number of this rank's indices that have been used. After the first
   * call, the sampler's state counts these instead of the indices it has yielded.
   */
  setUsed(used: number): void;
  /** Reports that all indices have been used: the sampler's state is the start of the next epoch. */
  finish(): void;
}

export function isStateful(sampler: Sampler): sampler is StatefulSampler {
  return 'stateDict' in sampler && 'loadStateDict' in sampler;
}

/** @throws InvalidArgumentError for a state that is not an object */
export function requireObject(who: string, state: unknown): void {
  if (typeof state === 'object' && state !== null) return;
  throw new InvalidArgumentError(`${who}: expected a state from stateDict(), got ${String(state)}.`);
}

/** The properties that a state must match. */
export type DatasetOrder = Pick<SamplerState, 'datasetLength' | 'shuffle' | 'numSamples'>;

/**
 * Returns `state` if it belongs to such a dataset; otherwise throws an `InvalidArgumentError` that names
 * `owner`.
 */
export function checkedState(
  state: SamplerState,
  { datasetLength, shuffle, numSamples }: DatasetOrder,
  owner: string,
): SamplerState {
  const who = `${owner}.loadStateDict`;
  requireObject(who, state);
  requireInteger(state.epoch, { who, what: 'epoch', min: 0 });
  requireSeed(state.seed, who);
  if (state.datasetLength !== datasetLength) {
    throw new InvalidArgumentError(
      `${who}: expected the state of a dataset of ${datasetLength} samples, got one of ${state.datasetLength}. ` +
        'Samples would be lost or repeated: resume with the same dataset, or start without the state.',
    );
  }
  if (state.shuffle !== shuffle) {
    const order = (isShuffled: boolean) => (isShuffled ? 'a shuffled order' : "the dataset's own order");
    throw new InvalidArgumentError(
      `${who}: expected the state of ${order(shuffle)}, got the state of ${order(state.shuffle)}. ` +
        'Create the sampler with the same `shuffle` as before.',
    );
  }
  if (state.numSamples !== numSamples) {
    const order = (count: number | undefined) =>
      count === undefined ? 'an order without replacement' : `${count} indices drawn with replacement`;
    throw new InvalidArgumentError(
      `${who}: expected the state of ${order(numSamples)}, got the state of ${order(state.numSamples)}. ` +
        'Create the sampler with the same `replacement` and `numSamples` as before.',
    );
  }
  requireInteger(state.samplesSeen, { who, what: 'samplesSeen', min: 0, max: numSamples ?? datasetLength });
  return state;
}
