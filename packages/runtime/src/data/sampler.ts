import { requireOptions } from '@ringrun/collectives/require-options';
import { SharedOrder } from './shared-order.ts';
import { requireInteger } from './require-integer.ts';

/** In which order, and which, samples of a dataset are visited: each iteration is one epoch of indices. */
export interface Sampler extends Iterable<number> {
  /** How many indices one epoch has. */
  readonly length: number;
}

/** What a sampler must know of a dataset: how long it is. */
export type Sized = number | { readonly length: number };

/** The length of `dataset`; `InvalidArgumentError` in the name of `who` when it is no count. */
export function lengthOf(dataset: Sized, who: string): number {
  const length = typeof dataset === 'number' ? dataset : dataset.length;
  return requireInteger(length, { who, what: "the dataset's length", min: 0 });
}

/** Every index once, in order (torch.utils.data.SequentialSampler). Its state is kept as a DistributedSampler's. */
export class SequentialSampler extends SharedOrder {
  /** `dataset`: a dataset, or its length. */
  constructor(dataset: Sized) {
    super('SequentialSampler', { datasetLength: lengthOf(dataset, 'SequentialSampler'), shuffle: false });
  }
}

/**
 * Every index once, in a random order that differs from epoch to epoch (torch.utils.data.RandomSampler without replacement).
 *
 * Unlike torch, whose order hangs on a global generator, epoch `e` has the order of `seed + e`: what a DistributedSampler of the same
 * seed visits on a single rank. The epoch is counted, and the state kept, as there.
 */
export class RandomSampler extends SharedOrder {
  /** `dataset`: a dataset, or its length. `seed`: 0 unless given. */
  constructor(dataset: Sized, options: { seed?: number } = {}) {
    requireOptions('RandomSampler', options, { seed: true });
    const { seed = 0 } = options;
    super('RandomSampler', { datasetLength: lengthOf(dataset, 'RandomSampler'), shuffle: true, seed });
  }
}
