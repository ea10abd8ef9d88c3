import { requireOptions } from '@ringrun/core';
import { SharedOrder } from './shared-order.ts';
import { requireInteger } from './require-integer.ts';

/** Selects and orders the samples of a dataset. Each iteration yields the indices of one epoch. */
export interface Sampler extends Iterable<number> {
  /** Number of indices per epoch. */
  readonly length: number;
}

/** The part of a dataset that a sampler needs: its length. */
export type Sized =
  | number
  | {
      /** Number of samples. */
      readonly length: number;
    };

/**
 * Returns the length of `dataset`; throws an `InvalidArgumentError` that names `who` if it is not a valid
 * length.
 */
export function lengthOf(dataset: Sized, who: string): number {
  const length = typeof dataset === 'number' ? dataset : dataset.length;
  return requireInteger(length, { who, what: "the dataset's length", min: 0 });
}

/**
 * Visits every index once, in order (torch.utils.data.SequentialSampler). Its state works like a
 * DistributedSampler's.
 */
export class SequentialSampler extends SharedOrder {
  /** `dataset`: a dataset, or its length. */
  constructor(dataset: Sized) {
    super('SequentialSampler', { datasetLength: lengthOf(dataset, 'SequentialSampler'), shuffle: false });
  }
}

/**
 * Visits every index once, in a random order that differs in each epoch (torch.utils.data.RandomSampler
 * without replacement).
 *
 * Unlike torch, whose order depends on a global generator, epoch `e` uses `seed + e`, so the order equals
 * that of a DistributedSampler with the same seed on one rank. Epochs and state work as there.
 */
export class RandomSampler extends SharedOrder {
  /** @param dataset a dataset, or its length. Default of `seed`: 0. */
  constructor(dataset: Sized, options: { seed?: number } = {}) {
    requireOptions('RandomSampler', options, { seed: true });
    const { seed = 0 } = options;
    super('RandomSampler', { datasetLength: lengthOf(dataset, 'RandomSampler'), shuffle: true, seed });
  }
}
