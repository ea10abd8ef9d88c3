import { expect, test } from 'vitest';
import type { RankSummary } from '../../../launcher/src/worker/slowest-rank.ts';
import { closingTable } from '../../src/report/closing-table.ts';

const rank = (number: number, waiting: number, part: Partial<RankSummary> = {}): RankSummary => ({
  ...{
    rank: number,
    host: `host${number}`,
    steps: 100,
    samples: 6400,
    seconds: 10,
    input: 1,
    compute: 6,
    waiting,
  },
  ...part,
});

test('has a row per rank and a total, and names the rank that waits least as slowest', () => {
  expect(closingTable([rank(0, 3), rank(1, 0.5, { input: 3.5 })], 'images').split('\n')).toEqual([
    'rank     time  images/s  input  compute  waiting',
    '   0  10.00 s       640  10.0%    60.0%    30.0%',
    '   1  10.00 s       640  35.0%    60.0%     5.0%',
    ' all  10.00 s      1280  22.5%    60.0%    17.5%',
    'slowest: rank 1 on host1, which waited 0.50 s, the others 3.00 s on average',
  ]);
});

test('names no slow rank if the ranks wait about equally long', () => {
  const [, , , , last] = closingTable([rank(0, 1.1), rank(1, 1)], 'images').split('\n');
  expect(last).toBe('no rank is slow: rank 1 waited least, 1.00 s, the others 1.10 s on average');
});

test('has one row and no comparison for one rank', () => {
  expect(closingTable([rank(0, 0)], 'samples').split('\n')).toHaveLength(2);
});

test('has no rates without an epoch', () => {
  const nothing = { steps: 0, samples: 0, seconds: 0, input: 0, compute: 0, waiting: 0 };
  expect(closingTable([rank(0, 0, nothing)], 'images')).toMatch(/0 +0\.00 s +- +- +- +-$/);
});

test('shows the slowest of many ranks', () => {
  // The higher the rank, the less it waits.
  const lines = closingTable(
    Array.from({ length: 64 }, (_, i) => rank(i, 64 - i)),
    'images',
  ).split('\n');
  const rows = lines.slice(1, 17).map((line) => Number(line.trim().split(' ')[0]));
  expect(rows).toEqual(Array.from({ length: 16 }, (_, i) => 48 + i));
  expect(lines.slice(18)).toEqual([
    '(the 16 slowest of 64 ranks)',
    'slowest: rank 63 on host63, which waited 1.00 s, the others 33.00 s on average',
  ]);
});
