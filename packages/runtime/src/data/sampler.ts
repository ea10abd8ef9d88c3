import { requireInteger, requireOptions } from '@ringrun/core';
import { SharedOrder } from './shared-order.ts';
import type { ReplacementOptions } from './shared-order.ts';

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

/** Options of a {@link RandomSampler}. */
export interface RandomSamplerOptions extends ReplacementOptions {
  /** Seed of the orders, an integer from -(2^53 - 1) to 2^53 - 1. Default: 0. */
  seed?: number;
}

/**
 * Visits every index once, in a random order that differs in each epoch, or draws indices with replacement
 * (torch.utils.data.RandomSampler).
 *
 * Unlike torch, whose order depends on a global generator, epoch `e` uses `seed + e`, so the order equals
 * that of a DistributedSampler with the same seed on one rank. Epochs and state work as there.
 */
export class RandomSampler extends SharedOrder {
  /** @param dataset a dataset, or its length */
  constructor(dataset: Sized, options: RandomSamplerOptions = {}) {
    const who = 'RandomSampler';
    requireOptions(who, options, { seed: true, replacement: true, numSamples: true });
    super(who, { ...options, datasetLength: lengthOf(dataset, who), shuffle: true });
  }
}
