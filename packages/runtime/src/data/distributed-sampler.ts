import { InvalidArgumentError } from '@ringrun/collectives';
import { requireOptions, type OptionNames } from '@ringrun/collectives/require-options';
import { getRank, getWorldSize, isInitialized } from '../process-group/index.ts';
import { lengthOf } from './sampler.ts';
import type { Sized } from './sampler.ts';
import type { Tail } from './share.ts';
import { SharedOrder } from './shared-order.ts';

export interface DistributedSamplerOptions {
  /** Number of ranks that share the dataset; the initialised group's unless given, 1 without a group. */
  numReplicas?: number;
  /** This process among them; the initialised group's unless given, 0 without a group. */
  rank?: number;
  /** Visit the dataset in a random order, a new one in each epoch; true unless given. */
  shuffle?: boolean;
  /** Where the random orders start, an integer from -(2^53 - 1) to 2^53 - 1; the same on every rank. Default: 0. */
  seed?: number;
  /** Leave out the last samples that do not divide evenly, instead of repeating the first ones; false unless given. */
  dropLast?: boolean;
  /**
   * Whether all ranks get equally many indices (MONAI's `even_divisible`); true unless given. With false each sample is visited exactly once, and ranks
   * differ by one sample at most: for an evaluation, which would count padding twice, or for training under `join`.
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
};

/**
 * This rank's share of a dataset (torch.utils.data.DistributedSampler): of one order that all ranks know, every `numReplicas`-th index
 * from the `rank`-th on. Index by index it visits what torch visits with the same arguments and epoch.
 *
 * All ranks get equally many. What does not divide evenly is made up by repeating the order from its start, or is left out with
 * `dropLast`, or is shared out as it is with `evenDivisible: false`.
 *
 * The order of epoch `e` is `torch.randperm` seeded with `seed + e`. Unlike torch, where forgetting `setEpoch` repeats
 * one order for ever, each iteration begins the next epoch by itself; `setEpoch` sets which one it is.
 * Ranks must therefore begin equally many iterations, or call `setEpoch` before each.
 *
 * `stateDict` and `loadStateDict` resume in the middle of an epoch, on as many ranks as there are then: no sample is lost, and none is repeated
 * but for the padding of the last ones.
 */
export class DistributedSampler extends SharedOrder {
  /**
   * `dataset`: a dataset, or its length. Throws `InvalidArgumentError` for a rank outside of `numReplicas`, a negative number, or `dropLast` together with
   * `evenDivisible: false`.
   */
  constructor(dataset: Sized, options: DistributedSamplerOptions = {}) {
    const who = 'DistributedSampler';
    requireOptions(who, options, optionNames);
    super(who, {
      datasetLength: lengthOf(dataset, who),
      numReplicas: options.numReplicas ?? (isInitialized() ? getWorldSize() : 1),
      rank: options.rank ?? (isInitialized() ? getRank() : 0),
      shuffle: options.shuffle ?? true,
      seed: options.seed ?? 0,
      tail: tailOf(options),
    });
  }
}

function tailOf({ dropLast = false, evenDivisible = true }: DistributedSamplerOptions): Tail {
  if (evenDivisible) return dropLast ? 'leave out' : 'repeat the first';
  if (!dropLast) return 'as they come';
  throw new InvalidArgumentError(
    'DistributedSampler: got dropLast: true and evenDivisible: false, of which one leaves samples out and the other visits each. Give one of them.',
  );
}
