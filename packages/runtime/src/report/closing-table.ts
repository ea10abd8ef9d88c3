/** What a rank has done in all epochs. */
export interface RankSummary {
  rank: number;
  host: string;
  steps: number;
  samples: number;
  /** Of the epochs; what lies between them, such as evaluation, does not count. */
  seconds: number;
  /** Seconds in which the loop waited for its next batch. */
  input: number;
  /** Seconds in which programs ran. */
  compute: number;
  /** Seconds in which a step could not go on before a collective had ended. */
  waiting: number;
}

const mostRows = 16;
/** A difference in waiting, as a share of the time, that chance makes. */
const evenUpTo = 0.02;

/**
 * A table of the ranks: time, rate, and the shares of input, compute and waiting; of many ranks the slowest. Below it the slowest: since all have to wait for each
 * other in every step, ranks take equally long, and the slowest is the one that waits least.
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
  if (ranks.length < 2) return lines;
  const [slowest, ...others] = slowestFirst(ranks);
  const waited = others.reduce((sum, { waiting }) => sum + waiting, 0) / others.length;
  const isSlow = waited - slowest.waiting > evenUpTo * slowest.seconds;
  const verdict = isSlow
    ? `slowest: rank ${slowest.rank} on ${slowest.host}, which waited`
    : `no rank is slow: rank ${slowest.rank} waited least,`;
  return [
    ...lines,
    `${verdict} ${slowest.waiting.toFixed(2)} s, the others ${waited.toFixed(2)} s on average`,
  ];
}

function slowestFirst(ranks: readonly RankSummary[]): RankSummary[] {
  return ranks.toSorted((a, b) => a.waiting - b.waiting || a.rank - b.rank);
}

function rate(samples: number, seconds: number): string {
  return seconds > 0 ? (samples / seconds).toFixed(0) : '-';
}

function percent(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)}%` : '-';
}

/** Columns of equal width, to the right. */
function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column])).join('  '));
}
