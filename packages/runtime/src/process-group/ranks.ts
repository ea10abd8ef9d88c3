import { formatRanks, InvalidArgumentError } from '@ringrun/core';

/**
 * Ranks of a new group, sorted as by torch.distributed.new_group. Default: all ranks.
 *
 * @throws InvalidArgumentError unless `ranks` is a non-empty list of distinct ranks from 0 to `worldSize` − 1.
 */
export function checkedRanks(ranks: readonly number[] | undefined, worldSize: number): number[] {
  const given: unknown = ranks ?? Array.from({ length: worldSize }, (_, rank) => rank);
  const isRank = (one: unknown) => Number.isInteger(one) && Number(one) >= 0 && Number(one) < worldSize;
  if (!Array.isArray(given) || given.length === 0 || !given.every(isRank)) {
    throw new InvalidArgumentError(
      `newGroup's ranks are ${describe(given)}, expected a list of one or more ranks of the default group: integers from 0 to ${worldSize - 1}.`,
    );
  }
  const sorted = (given as number[]).toSorted((a, b) => a - b);
  const twice = sorted.find((rank, i) => rank === sorted[i + 1]);
  if (twice === undefined) return sorted;
  throw new InvalidArgumentError(
    `newGroup's ranks are ${describe(given)}, expected each rank once, got ${twice} twice.`,
  );
}

function describe(given: unknown): string {
  return Array.isArray(given) ? `[${given.map(String).join(', ')}]` : String(given);
}

/**
 * Converts a rank of the default group to a rank of the group with these `ranks`. `name` is the argument's name for the
 * error.
 */
export function groupRankAmong(ranks: readonly number[], globalRank: number, name: string): number {
  const rank = ranks.indexOf(globalRank);
  if (rank >= 0) return rank;
  throw new InvalidArgumentError(
    `${name} is ${globalRank}, expected a rank of the default group that is in this group: ${formatRanks(ranks)}.`,
  );
}

/** Converts rank `groupRank` of the group with these `ranks` to a rank of the default group. */
export function globalRankAmong(ranks: readonly number[], groupRank: number): number {
  if (Number.isInteger(groupRank) && groupRank >= 0 && groupRank < ranks.length) return ranks[groupRank];
  throw new InvalidArgumentError(
    `groupRank is ${groupRank}, expected a rank of this group: an integer from 0 to ${ranks.length - 1}.`,
  );
}
