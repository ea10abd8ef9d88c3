import { leastWaiting, slowestFirst, type RankSummary } from '@ringrun/launcher';

const maxRows = 16;
/**
 * Formats a table of the ranks with time, rate, and the shares of input, compute and waiting, followed by the slowest
 * rank. With many ranks, only the slowest are shown. All ranks take equally long, since each step synchronizes them, so
 * the slowest rank is the one that waits least.
 */
export function closingTable(ranks: readonly RankSummary[], unit: string): string {
  const shown = slowestFirst(ranks)
    .slice(0, maxRows)
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
