import { InvalidArgumentError, requireOptions } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { shareOfProcess } from '../process-group/groups.ts';
import { lengthOf } from './sampler.ts';
import type { Sized } from './sampler.ts';
import type { Tail } from './share.ts';
import { SharedOrder } from './shared-order.ts';
import type { ReplacementOptions } from './shared-order.ts';

/** Options of a {@link DistributedSampler}. */
export interface DistributedSamplerOptions extends ReplacementOptions {
  /**
   * Number of ranks that share the dataset. Default: the default group's size, or 1 without a group. In a process that
   * joins a running job: WORLD_SIZE.
   */
  numReplicas?: number;
  /**
   * Rank of this process. Default: its rank in the default group, or 0 without a group. In a process that joins a
   * running job: RANK.
   */
  rank?: number;
  /** Visit the dataset in a random order, different in each epoch. Default: `true`. */
  shuffle?: boolean;
  /**
   * Seed of the random orders, an integer from -(2^53 - 1) to 2^53 - 1. It must be the same on every rank.
   * Default: 0.
   */
  seed?: number;
  /** Drop the last samples that do not divide evenly, instead of repeating the first ones. Default: `false`. */
  dropLast?: boolean;
  /**
   * Give all ranks the same number of indices (MONAI's `even_divisible`). Default: `true`. If `false`, each
   * sample is visited exactly once, and ranks differ by at most one sample. Use it for evaluation, where
   * padding would be counted twice, or for training under `join`.
   */
  evenDivisible?: boolean;
}

const optionNames: OptionNames<DistributedSamplerOptions> = {
  numReplicas: true,
  rank: true,
  shuffle: true,
  seed: true,
  dropLast: true,
  evenDivisible: true,
  replacement: true,
  numSamples: true,
};

/**
 * Samples this rank's share of a dataset (torch.utils.data.DistributedSampler): every `numReplicas`-th index
 * of a common order, starting at index `rank`. For the same arguments and epoch, the indices equal torch's.
 *
 * All ranks receive the same number of indices. If the dataset does not divide evenly, the order is padded
 * from its start, or truncated with `dropLast`. With `evenDivisible: false` some ranks receive one index
 * more.
 *
 * The order of epoch `e` is `torch.randperm` seeded with `seed + e`. Unlike torch, where forgetting
 * `setEpoch` repeats one order forever, each iteration starts the next epoch automatically; `setEpoch`
 * overrides it. So ranks must start the same number of iterations, or call `setEpoch` before each.
 *
 * With `replacement`, which torch has only in RandomSampler, all ranks together draw `numSamples` indices, each
 * from the hash of seed, epoch and its position. Ranks draw different ones.
 *
 * `stateDict` and `loadStateDict` resume mid-epoch on any number of ranks. No sample is lost or repeated,
 * except for padding at the end.
 */
export class DistributedSampler extends SharedOrder {
  /**
   * @param dataset a dataset, or its length
   * @throws InvalidArgumentError for a rank out of range, a negative number, or `dropLast` with
   * `evenDivisible: false`
   */
  constructor(dataset: Sized, options: DistributedSamplerOptions = {}) {
    const who = 'DistributedSampler';
    requireOptions(who, options, optionNames);
    const { rank, worldSize } = shareOfProcess();
    super(who, {
      datasetLength: lengthOf(dataset, who),
      numReplicas: options.numReplicas ?? worldSize,
      rank: options.rank ?? rank,
      shuffle: options.shuffle ?? true,
      seed: options.seed ?? 0,
      tail: tailOf(options),
      replacement: options.replacement,
      numSamples: options.numSamples,
    });
  }
}

function tailOf({ dropLast = false, evenDivisible = true }: DistributedSamplerOptions): Tail {
  if (evenDivisible) return dropLast ? 'leave out' : 'repeat the first';
  if (!dropLast) return 'as they come';
  throw new InvalidArgumentError(
    'DistributedSampler: got both dropLast: true, which drops samples, and evenDivisible: false, which visits every sample. Pass only one of them.',
  );
}
