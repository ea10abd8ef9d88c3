import { expect, test } from 'vitest';
import { onLook, onRenewed } from '../../src/rounds/node-state.ts';
import type { NodeState } from '../../src/rounds/node-state.ts';
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

test('the time in which a node was stopped is no silence of the store', () => {
  const timing = { keepAliveIntervalMs: 500, keepAliveMaxAttempts: 4 };
  const lease = { renewedAt: 0, lengthMs: 2000 };
  const started = { timing, lease, lookedAt: 0, unansweredSince: 0 } as NodeState;
  const looks = [100, 200, 60_200, 60_300].reduce((state, now) => onLook(state, now, 100), started);
  expect(looks.unansweredSince).toBe(59_900);
  // The answer to a heartbeat from before the pause, and to a later one.
  expect(onRenewed(looks, 150)).toMatchObject({ unansweredSince: 59_900, lease: { renewedAt: 150 } });
  expect(onRenewed(looks, 60_250)).toMatchObject({ unansweredSince: 60_250, lease: { renewedAt: 60_250 } });
});
