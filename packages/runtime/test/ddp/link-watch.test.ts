import { expect, test } from 'vitest';
import { hasSlowed, slowestText } from '../../src/ddp/link-watch.ts';

test.each([
  { usualMs: 100, waitMs: 150, slowed: true, why: 'half as long again' },
  { usualMs: 100, waitMs: 149, slowed: false, why: 'a little longer' },
  { usualMs: 1, waitMs: 20, slowed: false, why: 'many times as long, but only 19 ms' },
  { usualMs: 1, waitMs: 26, slowed: true, why: 'half a second in 20 steps' },
  { usualMs: 0, waitMs: 0, slowed: false, why: 'no wait' },
])('a wait of $waitMs ms after $usualMs ms, $why, is measured: $slowed', ({ usualMs, waitMs, slowed }) => {
  expect(hasSlowed(usualMs, waitMs)).toBe(slowed);
});

const between = (rates: readonly (readonly number[])[]) => ({
  hosts: ['a', 'b', 'c'],
  delay: rates.map((row) => row.map(() => 0.001)),
  bandwidth: rates,
  capacity: [1e7, 1e7, 1e7],
});

test('the link that lost most of its bandwidth is named', () => {
  const before = between([
    [0, 1e7, 1e7],
    [1e7, 0, 1e7],
    [1e7, 1e7, 0],
  ]);
  const now = between([
    [0, 5e6, 1e7],
    [1e6, 0, 9e6],
    [1e7, 1e7, 0],
  ]);
  expect(slowestText(before, now)).toBe(
    'b → a has 1 MB/s, before 10 MB/s. Rings go around it where they can.',
  );
  expect(slowestText(before, before)).toMatch(/^none has become much slower\./);
});
