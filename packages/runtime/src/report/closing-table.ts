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

const mostRows = 16;
/** Differences in waiting below this share of the time are considered random. */
const evenUpTo = 0.02;

/**
 * Formats a table of the ranks with time, rate, and the shares of input, compute and waiting, followed by the
 * slowest rank. If there are many ranks, only the slowest are shown. All ranks take equally long, since each
 * step synchronizes them, so the slowest rank is the one that waits least.
 */
export function closingTable(ranks: readonly RankSummary[], unit: string): string {
  const shown = slowestFirst(ranks)
    .slice(0, mostRows)
    .sort((a, b) => a.rank - b.rank);
  const rows = [
    ['rank', 'time', `${unit}/s`, 'input', 'compute', 'waiting'],
    ...shown.map((one) => [
      String(one.rank),
      `${one.seconds.toFixed(2)} s`,
      rate(one.samples, one.seconds),
      ...[one.input, one.compute, one.waiting].map((part) => percent(part, one.seconds)),
    ]),
    ...(ranks.length > 1 ? [rowOfAll(ranks)] : []),
  ];
  return [...aligned(rows), ...remarks(ranks, shown)].join('\n');
}

function rowOfAll(ranks: readonly RankSummary[]): string[] {
  const sum = (part: 'samples' | 'seconds' | 'input' | 'compute' | 'waiting') =>
    ranks.reduce((total, one) => total + one[part], 0);
  const longest = Math.max(...ranks.map(({ seconds }) => seconds));
  const shares = (['input', 'compute', 'waiting'] as const).map((part) => percent(sum(part), sum('seconds')));
  return ['all', `${longest.toFixed(2)} s`, rate(sum('samples'), longest), ...shares];
}

function remarks(ranks: readonly RankSummary[], shown: readonly RankSummary[]): string[] {
  const lines = shown.length < ranks.length ? [`(the ${shown.length} slowest of ${ranks.length} ranks)`] : [];
  const least = leastWaiting(ranks);
  if (least === undefined) return lines;
  const verdict = least.isSlow
    ? `slowest: rank ${least.rank} on ${least.host}, which waited`
    : `no rank is slow: rank ${least.rank} waited least,`;
  return [
    ...lines,
    `${verdict} ${least.waited.toFixed(2)} s, the others ${least.othersWaited.toFixed(2)} s on average`,
  ];
}

/** The rank that the others wait for. Times are in seconds. */
export interface SlowestRank {
  readonly rank: number;
  readonly host: string;
  readonly waited: number;
  /** Mean of the other ranks. */
  readonly othersWaited: number;
}

type Waits = Pick<RankSummary, 'rank' | 'host' | 'seconds' | 'waiting'>;

/** The slowest rank; undefined if the ranks wait equally long, except for random differences. */
export function slowestRank(ranks: readonly Waits[]): SlowestRank | undefined {
  const least = leastWaiting(ranks);
  if (least === undefined || !least.isSlow) return undefined;
  const { rank, host, waited, othersWaited } = least;
  return { rank, host, waited, othersWaited };
}

/** Undefined with fewer than two ranks. */
function leastWaiting(ranks: readonly Waits[]): (SlowestRank & { isSlow: boolean }) | undefined {
  if (ranks.length < 2) return undefined;
  const [{ rank, host, waiting: waited, seconds }, ...others] = slowestFirst(ranks);
  const othersWaited = others.reduce((sum, { waiting }) => sum + waiting, 0) / others.length;
  return { rank, host, waited, othersWaited, isSlow: othersWaited - waited > evenUpTo * seconds };
}

function slowestFirst<Rank extends Waits>(ranks: readonly Rank[]): Rank[] {
  return ranks.toSorted((a, b) => a.waiting - b.waiting || a.rank - b.rank);
}

function rate(samples: number, seconds: number): string {
  return seconds > 0 ? (samples / seconds).toFixed(0) : '-';
}

function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)}%` : '-';
}

/** Right-aligned columns of equal width. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column])).join('  '));
}
