import { registry, type ProcessGroup } from '@ringrun/core';
import { TfjsError } from '../errors.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Options of {@link shard}. */
export interface ShardOptions {
  /** Number of ranks that share the dataset. Default: the world size, or 1 without a process group. */
  numReplicas?: number;
  /** Rank of this process. Default: its rank in the default group, or 0 without a process group. */
  rank?: number;
  /**
   * If true, drops elements at the end that do not divide evenly, so that all ranks have equally many. If false, every
   * element is visited once, as evaluation needs, and ranks may differ by one element. Default: true.
   */
  dropRemainder?: boolean;
  /** Source of the defaults of `numReplicas` and `rank`. Default: the default group, if any. */
  processGroup?: ProcessGroup;
}

const optionNames: OptionNames<ShardOptions> = {
  numReplicas: true,
  rank: true,
  dropRemainder: true,
  processGroup: true,
};

/** tf.data.Dataset */
export interface AnyDataset {
  /** Number of elements; Infinity, or null at run time, if it is unknown. */
  readonly size: number;
  /** Starts an iteration over the elements. */
  iterator(): Promise<unknown>;
}

/** tf.data's LazyIterator */
interface LazyIterator {
  rowMajorBatch(size: number, smallLastBatch: boolean): LazyIterator;
  map(transform: (round: unknown[]) => unknown): LazyIterator;
  filter(predicate: (element: unknown) => boolean): LazyIterator;
}

/**
 * This rank's share of a tf.data.Dataset: the `rank`-th of every `numReplicas` elements (Python's tf.data `shard`). Call it
 * before `batch`, before `shuffle` (or use the same seed on all ranks), and before an expensive `map`.
 *
 * @throws TfjsError `ERR_ARGUMENT` for a rank outside 0 to `numReplicas` − 1
 */
export function shard<Dataset extends AnyDataset>(dataset: Dataset, options: ShardOptions = {}): Dataset {
  requireOptions('shard', options, optionNames);
  const group = options.processGroup ?? registry.defaultGroup;
  const { numReplicas = group?.size ?? 1, rank = group?.rank ?? 0, dropRemainder = true } = options;
  requireRank(rank, numReplicas);
  const own = (round: unknown[]) =>
    round.length < numReplicas && dropRemainder ? null : (round[rank] ?? null);
  // tf disposes tensors that `map` does not return.
  const iterator = async () =>
    ((await dataset.iterator()) as LazyIterator)
      .rowMajorBatch(numReplicas, true)
      .map(own)
      .filter((element) => element !== null);
  // A dataset of the same class, whose derived datasets start from this iterator.
  return Object.create(dataset, {
    iterator: { value: iterator },
    size: { value: shareOf(dataset.size, { numReplicas, rank, dropRemainder }) },
  }) as Dataset;
}

/** This rank's number of elements; null if the total is unknown, as in tf. */
function shareOf(
  size: number | null,
  { numReplicas, rank, dropRemainder }: { numReplicas: number; rank: number; dropRemainder: boolean },
): number | null {
  if (size === null || size === Infinity) return size;
  return dropRemainder ? Math.floor(size / numReplicas) : Math.ceil((size - rank) / numReplicas);
}

function requireRank(rank: number, numReplicas: number): void {
  if (Number.isSafeInteger(numReplicas) && Number.isSafeInteger(rank) && rank >= 0 && rank < numReplicas)
    return;
  throw new TfjsError(
    'ERR_ARGUMENT',
    `shard: rank must be a whole number from 0 to numReplicas - 1, got rank ${rank} of ${numReplicas}.`,
  );
}
