import type { ProcessGroup } from 'ringrun';
import { TfjsError } from '../errors.ts';
import { groupNow } from '../ringrun.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

export interface ShardOptions {
  /** Number of ranks that share the dataset; the initialised group's unless given, 1 without a group. */
  numReplicas?: number;
  /** This process among them; the initialised group's unless given, 0 without a group. */
  rank?: number;
  /**
   * Whether elements at the end that do not divide evenly are left out, so that all ranks have as many batches; true unless given. With false each is visited once, as an
   * evaluation needs, and ranks differ by one element.
   */
  dropRemainder?: boolean;
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
  readonly size: number;
  iterator(): Promise<unknown>;
}

/** tf.data's LazyIterator */
interface LazyIterator {
  rowMajorBatch(size: number, smallLastBatch: boolean): LazyIterator;
  map(transform: (round: unknown[]) => unknown): LazyIterator;
  filter(predicate: (element: unknown) => boolean): LazyIterator;
}

/**
 * This rank's share of a tf.data.Dataset (tf.data's `shard`, of Python): of every `numReplicas` elements the `rank`-th. Elements are those of the dataset as it is given: shard before
 * `batch`, before `shuffle` (or give it a seed, the same on all ranks) and before a `map` that computes, which otherwise every rank does for all.
 *
 * @throws TfjsError `ERR_ARGUMENT` for a rank outside of `numReplicas`
 */
export function shard<Dataset extends AnyDataset>(dataset: Dataset, options: ShardOptions = {}): Dataset {
  requireOptions('shard', options, optionNames);
  const group = options.processGroup ?? groupNow();
  const { numReplicas = group?.size ?? 1, rank = group?.rank ?? 0, dropRemainder = true } = options;
  requireRank(rank, numReplicas);
  const own = (round: unknown[]) =>
    round.length < numReplicas && dropRemainder ? null : (round[rank] ?? null);
  // tf disposes of the tensors of a round that `map` does not give on.
  const iterator = async () =>
    ((await dataset.iterator()) as LazyIterator)
      .rowMajorBatch(numReplicas, true)
      .map(own)
      .filter((element) => element !== null);
  // Another dataset of the same class: what is made of it begins with this iterator.
  return Object.create(dataset, {
    iterator: { value: iterator },
    size: { value: shareOf(dataset.size, { numReplicas, rank, dropRemainder }) },
  }) as Dataset;
}

/** Of a number of elements, which tf has as null where it is not known. */
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
