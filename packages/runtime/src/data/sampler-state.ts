import { InvalidArgumentError } from '@ringrun/collectives';
import { requireInteger, requireSeed } from './require-integer.ts';
import type { Sampler } from './sampler.ts';

/** How far all ranks together have come in one order of a dataset: plain data, which a checkpoint keeps. The same on every rank. */
export interface SamplerState {
  /** From 0. */
  epoch: number;
  /** Samples of this epoch's order that have been used, by all ranks together: the first ones of it. */
  samplesSeen: number;
  /** What the order was drawn from: `seed + epoch`. */
  seed: number;
  shuffle: boolean;
  /** Samples in the dataset. */
  datasetLength: number;
}

/** A sampler that can go on where another one of the same dataset was, on any number of ranks. */
export interface StatefulSampler extends Sampler {
  [Symbol.iterator](): EpochPass;
  stateDict(): SamplerState;
  /** The next iteration is the rest of the epoch that `state` was in. */
  loadStateDict(state: SamplerState): void;
}

/** One iteration of a stateful sampler. */
export interface EpochPass extends IterableIterator<number> {
  readonly epoch: number;
  readonly seed: number;
  /**
   * Who draws ahead says how many of this rank's indices have been used. From the first call on the sampler's state counts these, and not
   * those that were drawn.
   */
  setUsed(used: number): void;
  /** All has been used: the sampler's state is the next epoch's beginning. */
  finish(): void;
}

export function isStateful(sampler: Sampler): sampler is StatefulSampler {
  return 'stateDict' in sampler && 'loadStateDict' in sampler;
}

/** What a state must agree with. */
type Dataset = Pick<SamplerState, 'datasetLength' | 'shuffle'>;

/** `state`, once it is sure that it belongs to such a dataset; otherwise an `InvalidArgumentError` in the name of `owner`. */
export function checkedState(
  state: SamplerState,
  { datasetLength, shuffle }: Dataset,
  owner: string,
): SamplerState {
  const who = `${owner}.loadStateDict`;
  requireInteger(state.epoch, { who, what: 'epoch', min: 0 });
  requireSeed(state.seed, who);
  if (state.datasetLength !== datasetLength) {
    throw new InvalidArgumentError(
      `${who}: the state belongs to a dataset of ${state.datasetLength} samples, and this one has ${datasetLength}. ` +
        'Samples would be lost or repeated: resume with the dataset of before, or begin without the state.',
    );
  }
  if (state.shuffle !== shuffle) {
    const order = (isShuffled: boolean) => (isShuffled ? 'a shuffled order' : "the dataset's own order");
    throw new InvalidArgumentError(
      `${who}: the state belongs to ${order(state.shuffle)}, and this sampler has ${order(shuffle)}. ` +
        'Give the sampler the `shuffle` of before.',
    );
  }
  requireInteger(state.samplesSeen, { who, what: 'samplesSeen', min: 0, max: datasetLength });
  return state;
}
