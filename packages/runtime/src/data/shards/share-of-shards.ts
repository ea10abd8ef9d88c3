import type { DataShare } from '../dataset.ts';
import { randperm } from '../randperm.ts';

/** The shards in the order of an epoch. With `shuffle`, permuted for seed and epoch: the same for all shares. */
export function shardsInOrder<Shard>(
  shards: readonly Shard[],
  { seed, epoch }: DataShare,
  shuffle: boolean,
): readonly Shard[] {
  if (!shuffle) return shards;
  return Array.from(randperm(shards.length, BigInt(seed) + BigInt(epoch)), (position) => shards[position]);
}

/** One share of shards in the order of an epoch: every `count`-th shard. */
export function shareOfShards<Shard>(shards: readonly Shard[], { index, count }: DataShare): Shard[] {
  return shards.filter((_, position) => position % count === index);
}
