import { InvalidArgumentError, requireOptions, requireSeed } from '@ringrun/core';
import type { Dataset } from '../../dataset.ts';
import { randperm } from '../../randperm.ts';
import { Subset } from './subset.ts';

/** Options of {@link randomSplit}. */
export interface RandomSplitOptions {
  /** Seed of the permutation, an integer. Default: 0. */
  seed?: number;
}

/**
 * Splits a dataset at random into parts without common samples (torch.utils.data.random_split with
 * `generator=torch.Generator().manual_seed(seed)`). Every rank makes the same parts.
 *
 * @param lengths numbers of samples with the dataset's length as their sum; or fractions with the sum 1, whose
 *   remainder is distributed to the first parts
 * @throws InvalidArgumentError if the lengths have another sum
 */
export function randomSplit<Sample>(
  dataset: Dataset<Sample>,
  lengths: readonly number[],
  options: RandomSplitOptions = {},
): Subset<Sample>[] {
  requireOptions('randomSplit', options, { seed: true });
  const seed = requireSeed(options.seed ?? 0, 'randomSplit');
  const counts = countsOf(dataset.length, lengths);
  const order = [...randperm(dataset.length, seed)];
  let start = 0;
  return counts.map((count) => new Subset(dataset, order.slice(start, (start += count))));
}

function countsOf(length: number, lengths: readonly number[]): number[] {
  const sum = lengths.reduce((total, part) => total + part, 0);
  if (lengths.some((part) => !(part >= 0))) rejectLengths(length, lengths);
  if (lengths.every(Number.isInteger) && sum === length) return [...lengths];
  if (Math.abs(sum - 1) > 1e-6) rejectLengths(length, lengths);
  const counts = lengths.map((fraction) => Math.floor(length * fraction));
  const rest = length - counts.reduce((total, count) => total + count, 0);
  return counts.map((count, part) => count + Math.ceil((rest - part) / counts.length));
}

function rejectLengths(length: number, lengths: readonly number[]): never {
  throw new InvalidArgumentError(
    `randomSplit: expected lengths with the sum ${length}, or fractions with the sum 1, got [${lengths.join(', ')}].`,
  );
}
