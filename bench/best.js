// The fastest mode of each library in one run of a benchmark. Pure.
import { median } from './support.js';
import { shown } from './table.js';

/**
 * One line: the fastest row of each library, and the fastest in float32, with the ratio of PyTorch's time to ringrun's.
 *
 * @param rows `name`, `library` (ringrun or PyTorch), `isBfloat16`, and `times`: those of each round, in `unit`, less is faster
 */
export function bestLine(rows, unit = 'ms') {
  const inFloat32 = rows.filter(({ isBfloat16 }) => !isBfloat16);
  return `best: ${comparison(rows, unit)}; float32 only: ${comparison(inFloat32, unit)}`;
}

function comparison(rows, unit) {
  const [own, peer] = ['ringrun', 'PyTorch'].map((library) => fastestOf(rows, library));
  const described = [own, peer].filter((row) => row !== undefined).map((row) => describe(row, unit));
  if (own === undefined || peer === undefined) return described.join('') || 'no row';
  // Within rounds: a drift of the machine's speed affects both alike.
  const rounds = Math.min(own.times.length, peer.times.length);
  const ratios = Array.from({ length: rounds }, (_, i) => peer.times[i] / own.times[i]);
  return `${described.join(', ')}, ratio ${shown(median(ratios))}`;
}

function fastestOf(rows, library) {
  const own = rows.filter((row) => row.library === library && row.times.length > 0);
  return own.sort((a, b) => median(a.times) - median(b.times))[0];
}

function describe({ name, times }, unit) {
  return `${name} ${shown(median(times), 4)} ${unit}`;
}
