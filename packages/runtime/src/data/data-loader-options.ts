import { InvalidArgumentError } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import type { Batched } from './collate.ts';
import type { AnyDataset } from './dataset-kind.ts';
import type { BatchMemory } from './dataset.ts';
import type { Sampler } from './sampler-state.ts';
import type { BatchTransform } from './transforms/mix.ts';

/** Options of a {@link DataLoader}. */
export interface DataLoaderOptions<Sample, Batch> {
  /** Samples in a batch. Default: 1. */
  batchSize?: number;
  /** Visit the samples in a random order, a new one in each epoch. Default: false. */
  shuffle?: boolean;
  /** Selects and orders the samples, instead of `shuffle`. Use a DistributedSampler if ranks share the dataset. */
  sampler?: Sampler;
  /** Drop the last batch if it is smaller than the others. Default: false. */
  dropLast?: boolean;
  /** Seed of `shuffle` and of augmentation, an integer from -(2^53 - 1) to 2^53 - 1. Default: the seed of the sampler, or 0. */
  seed?: number;
  /** Worker threads that load batches ahead. Default: 0, which loads in the thread of the loop. */
  numWorkers?: number;
  /** Keep the worker threads between iterations. They do not keep a process alive. Default: false. */
  persistentWorkers?: boolean;
  /**
   * Batches that each worker loads ahead; without workers, those of a dataset that returns promises. Default: 2.
   */
  prefetchFactor?: number;
  /**
   * Create each batch in the memory of an earlier one, which produces no garbage. Default: false: batches may be kept.
   * torch has no such option.
   *
   * The arrays of a batch are valid until the next batch is requested, at the end of the loop's body. Then their
   * length is 0, so later uses fail instead of reading another batch. All batches in `[...loader]` are empty. A
   * loop that ends early (`break` or an error) keeps its last batch.
   *
   * Reused are the arrays of `defaultCollate`, and those that the dataset's `batch` or `collateFn` allocates in
   * its `memory`. Other values may be kept.
   */
  reuseMemory?: boolean;
  /**
   * Creates one batch of `batchSize` samples, or fewer in the last batch. Default: `defaultCollate`, which runs in
   * the worker threads. Other functions run in the loop's thread, on copies of the workers' samples. `memory` is
   * undefined without `reuseMemory`.
   */
  collateFn?: (samples: Sample[], memory?: BatchMemory) => Batch;
  /**
   * Mixes the images of each batch: `new transforms.MixUp({ numClasses: 10 })`, `CutMix`, or a `RandomChoice` of them. The
   * batches become `{ image, label }` with class probabilities as labels. Runs in the worker threads, after
   * `defaultCollate`; or after `collateFn` in the loop's thread, in the arrays that it returns. Its random numbers depend only on seed, epoch and the samples of the batch. Default: none.
   */
  batchTransform?: BatchTransform & { readonly batch?: Batch };
  /**
   * Give all ranks the same number of batches of an iterable dataset, as DistributedSampler does for others. Default:
   * true. A rank that runs out repeats its first batches until all ranks have run out; with `dropLast`, all ranks stop
   * together. Ranks agree on this before each batch. If `false`, each sample is visited once, and ranks may have
   * different numbers of batches: use it for evaluation, or train under `join`.
   */
  evenDivisible?: boolean;
  /** Number of ranks that share an iterable dataset. Default: the default group's size, or 1 without a group. */
  numReplicas?: number;
  /** Rank of this process among those that share an iterable dataset. Default: its rank in the default group, or 0. */
  rank?: number;
}

/** A batch of images with classes, which a transform of batches mixes. Other fields stay as they are. */
export interface ClassBatch {
  /** [n, channels, height, width] */
  image: Batched<Float32Array>;
  /** Classes, [n]. */
  label: Batched<BigInt64Array>;
}

/** Options of a loader with both `collateFn` and `batchTransform`: the first creates what the second mixes. */
export interface MixingLoaderOptions<Sample, Batch> extends Omit<
  DataLoaderOptions<Sample, Batch>,
  'collateFn' | 'batchTransform'
> {
  /** Creates the images and classes of a batch, in arrays of its own. */
  collateFn: (samples: Sample[], memory?: BatchMemory) => ClassBatch;
  /** Mixes the batch that `collateFn` returns. */
  batchTransform: NonNullable<DataLoaderOptions<Sample, Batch>['batchTransform']>;
}

export const optionNames: OptionNames<DataLoaderOptions<unknown, unknown>> = {
  batchSize: true,
  shuffle: true,
  sampler: true,
  numWorkers: true,
  collateFn: true,
  batchTransform: true,
  dropLast: true,
  seed: true,
  persistentWorkers: true,
  prefetchFactor: true,
  reuseMemory: true,
  evenDivisible: true,
  numReplicas: true,
  rank: true,
};

export function requireForWorkers(dataset: AnyDataset, numWorkers: number): void {
  if (dataset.forWorkers !== undefined) return;
  throw new InvalidArgumentError(
    `DataLoader: got numWorkers: ${numWorkers}, but the dataset's functions stay in this thread. Put the dataset in a module of its own that exports createDataset, ` +
      "and make it with `await datasetFromModule(new URL('./dataset.js', import.meta.url), …)`; or leave out numWorkers.",
  );
}

export function requireNoWorkers(numWorkers: number): void {
  if (numWorkers === 0) return;
  throw new InvalidArgumentError(
    'DataLoader: batches of worker threads arrive while the loop waits. Write `for await (const batch of loader)`, or leave out numWorkers.',
  );
}

export function requireNoContradiction(options: DataLoaderOptions<never, unknown>): void {
  const { sampler, shuffle } = options;
  if (!sampler || !shuffle) return;
  throw new InvalidArgumentError(
    'DataLoader: got both a sampler and shuffle: true, but the sampler decides the order. Leave out shuffle, and let the sampler shuffle.',
  );
}

/** Options of the other kind of dataset are refused, because they would have no effect. */
export function requireOptionsOfKind(options: DataLoaderOptions<never, unknown>, isIterable: boolean): void {
  const others = isIterable
    ? (['shuffle', 'sampler'] as const)
    : (['evenDivisible', 'numReplicas', 'rank'] as const);
  const given = others.find((name) => options[name] !== undefined && options[name] !== false);
  if (given === undefined) return;
  throw new InvalidArgumentError(
    isIterable
      ? `DataLoader: got ${given} with an iterable dataset, which decides the order itself. Leave it out, and shuffle in the dataset.`
      : `DataLoader: got ${given} with a dataset that is accessed by index. Leave it out, and use a DistributedSampler.`,
  );
}

/**
 * The error for a loop without `await` over a dataset that requires waiting. Errors of `samples` are not reported as
 * well.
 */
export function needsAwait(samples?: Promise<unknown>): InvalidArgumentError {
  samples?.catch(() => undefined);
  return new InvalidArgumentError(
    'DataLoader: expected a dataset that returns samples at once, got one that returns promises or is iterable. Write `for await (const batch of loader)`.',
  );
}
