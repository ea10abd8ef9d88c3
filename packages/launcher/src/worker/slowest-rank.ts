/** One rank's totals over all epochs. */
export interface RankSummary {
  /** Rank in the group that trains. */
  rank: number;
  /** Host name of the rank's machine. */
  host: string;
  /** Steps since the report started, without those before resuming. */
  steps: number;
  /** Samples of this rank in these steps. */
  samples: number;
  /** Seconds within epochs. Time between epochs, such as evaluation, is not included. */
  seconds: number;
  /** Seconds that the loop waited for its next batch. */
  input: number;
  /** Seconds in which programs ran. */
  compute: number;
  /** Seconds that steps waited for a collective to end. */
  waiting: number;
}

/** Differences in waiting below this share of the time are considered random. */
const evenUpTo = 0.02;

/** The rank that the others wait for. Times are in seconds. */
export interface SlowestRank {
  readonly rank: number;
  readonly host: string;
  readonly waited: number;
  /** Mean of the other ranks. */
  readonly othersWaited: number;
}

/** How long a rank waited for the others. */
type Waits = Pick<RankSummary, 'rank' | 'host' | 'seconds' | 'waiting'>;

/** The slowest rank; undefined if the ranks wait equally long, except for random differences. */
export function slowestRank(ranks: readonly Waits[]): SlowestRank | undefined {
  const least = leastWaiting(ranks);
  if (least === undefined || !least.isSlow) return undefined;
  const { rank, host, waited, othersWaited } = least;
  return { rank, host, waited, othersWaited };
}

/** The rank that waits least, and whether it is slow; undefined with fewer than two ranks. */
export function leastWaiting(ranks: readonly Waits[]): (SlowestRank & { isSlow: boolean }) | undefined {
  if (ranks.length < 2) return undefined;
  const [{ rank, host, waiting: waited, seconds }, ...others] = slowestFirst(ranks);
  const othersWaited = others.reduce((sum, { waiting }) => sum + waiting, 0) / others.length;
  return { rank, host, waited, othersWaited, isSlow: othersWaited - waited > evenUpTo * seconds };
}

/** The ranks in ascending order of the time that they waited. */
export function slowestFirst<Rank extends Waits>(ranks: readonly Rank[]): Rank[] {
  return ranks.toSorted((a, b) => a.waiting - b.waiting || a.rank - b.rank);
}
