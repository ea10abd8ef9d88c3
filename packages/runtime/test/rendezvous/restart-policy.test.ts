import { expect, test } from 'vitest';
import { decideRestart } from '../../src/rendezvous/restart-policy.ts';

const budget = { maxRestarts: 2, restartsUsed: 0, lastStartUpFailure: undefined };
const failure = { nodesChanged: false, startUpFailure: undefined };

test('each failure uses one restart, until none is left', () => {
  const first = decideRestart(failure, budget);
  expect(first).toMatchObject({ kind: 'restart', budget: { restartsUsed: 1 }, reason: 'restart 1 of 2' });
  const second = decideRestart(failure, { ...budget, restartsUsed: 1 });
  expect(second).toMatchObject({ kind: 'restart', budget: { restartsUsed: 2 } });
  const third = decideRestart(failure, { ...budget, restartsUsed: 2 });
  expect(third).toEqual({ kind: 'fail', reason: 'all 2 restarts are used' });
});

test('nodes that join or leave use no restart', () => {
  const spent = { ...budget, restartsUsed: 2 };
  expect(decideRestart({ ...failure, nodesChanged: true }, spent)).toMatchObject({
    kind: 'restart',
    budget: spent,
  });
});

test('restarts once after a start-up failure, and not again if the same failure repeats', () => {
  const first = decideRestart({ ...failure, startUpFailure: 'a' }, budget);
  expect(first).toMatchObject({ kind: 'restart', budget: { lastStartUpFailure: 'a' } });
  const again = { ...budget, restartsUsed: 1, lastStartUpFailure: 'a' };
  expect(decideRestart({ ...failure, startUpFailure: 'a' }, again).kind).toBe('fail');
  expect(decideRestart({ ...failure, startUpFailure: 'b' }, again).kind).toBe('restart');
  // Between the two failures, the workers ran for a while.
  expect(decideRestart(failure, again)).toMatchObject({ budget: { lastStartUpFailure: undefined } });
});
