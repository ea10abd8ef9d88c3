import { expect, test } from 'vitest';
import { formatDuration, formatRanks } from '../src/format.ts';

test.each([
  [0, '0 s'],
  [300, '300 ms'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [125_000, '2:05 min'],
  [1_800_000, '30 min'],
  [3_600_000, '1 h'],
  [3_725_000, '1:02:05 h'],
  [Infinity, 'unlimited time'],
])('%s ms are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('formats lists of ranks', () => {
  expect(formatRanks([3])).toBe('rank 3');
  expect(formatRanks([7, 1, 2, 3])).toBe('ranks 1-3 and 7');
  expect(formatRanks([0, 2, 4])).toBe('ranks 0, 2 and 4');
});
