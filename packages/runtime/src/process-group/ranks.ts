import { InvalidArgumentError } from '@ringrun/collectives';
import { formatRanks } from './membership.ts';

/**
 * Ranks of a new group, in ascending order as torch.distributed.new_group sorts them; all unless given.
 *
 * @throws InvalidArgumentError for anything but different ranks from 0 to `worldSize` − 1, one at least.
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
    `newGroup's ranks are ${describe(given)}, in which ${twice} is twice: expected each rank once.`,
  );
}

function describe(given: unknown): string {
  return Array.isArray(given) ? `[${given.map(String).join(', ')}]` : String(given);
}

/** The place of a rank of the default group among the `ranks` of a group. */
export function groupRankAmong(ranks: readonly number[], globalRank: number, name: string): number {
  const rank = ranks.indexOf(globalRank);
  if (rank >= 0) return rank;
  throw new InvalidArgumentError(
    `${name} is ${globalRank}, expected a rank of the default group that is in this group: ${formatRanks(ranks)}.`,
  );
}

/** The rank in the default group of rank `groupRank` of a group with these `ranks`. */
export function globalRankAmong(ranks: readonly number[], groupRank: number): number {
  if (Number.isInteger(groupRank) && groupRank >= 0 && groupRank < ranks.length) return ranks[groupRank];
  throw new InvalidArgumentError(
    `groupRank is ${groupRank}, expected a rank of this group: an integer from 0 to ${ranks.length - 1}.`,
  );
}
