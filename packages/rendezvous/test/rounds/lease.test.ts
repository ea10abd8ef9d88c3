import { expect, test } from 'vitest';
import { noLiveness, silentNodes, updateLiveness } from '../../src/rounds/lease.ts';

const leaseMs = 2000;
const maxPauseMs = 500;

function read(times: readonly number[]): ReadonlySet<string> {
  const liveness = times.reduce(
    (before, now) => updateLiveness(before, new Map([['a', 7]]), now, maxPauseMs),
    noLiveness,
  );
  return silentNodes(liveness, leaseMs);
}

test('a node is silent if its counter has not changed for a lease', () => {
  expect(read([0, 500, 1000, 1500])).toEqual(new Set());
  expect(read([0, 500, 1000, 1500, 2000])).toEqual(new Set(['a']));
});

test('a reader that was stopped does not count the pause as silence', () => {
  expect(read([0, 500, 60_000])).toEqual(new Set());
  expect(read([0, 500, 60_000, 60_500, 61_000])).toEqual(new Set(['a']));
});
