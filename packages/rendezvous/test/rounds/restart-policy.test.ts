import { expect, test } from 'vitest';
import {
  defaultRestartBackoff,
  delayBeforeRestart,
  restartBackoffOf,
} from '../../src/rounds/restart-backoff.ts';
import { decideRestart as decide } from '../../src/rounds/restart-policy.ts';

const budget = { maxRestarts: 2, restartsUsed: 0, lastStartUpFailure: undefined, quickFailures: 0 };
const decideRestart = (outcome: Parameters<typeof decide>[0], now: Parameters<typeof decide>[1]) =>
  decide(outcome, now, defaultRestartBackoff);
const failure = { nodesChanged: false, startUpFailure: undefined, failedSoon: false };

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

test('restarts back off from the second quick failure, and are immediate after a healthy round', () => {
  const many = { ...budget, maxRestarts: 99 };
  const soon = { ...failure, failedSoon: true };
  const decisions = [soon, soon, soon, failure, soon].reduce<ReturnType<typeof decide>[]>((all, outcome) => {
    const last = all.at(-1);
    return [...all, decideRestart(outcome, last?.kind === 'restart' ? last.budget : many)];
  }, []);
  expect(decisions.map((one) => 'delayMs' in one && one.delayMs)).toEqual([0, 1000, 2000, 0, 0]);
  expect(decisions.map(({ reason }) => reason)).toEqual([
    'restart 1 of 99',
    'restart 2 of 99 in 1 s, because 2 starts in a row failed within 60 s',
    'restart 3 of 99 in 2 s, because 3 starts in a row failed within 60 s',
    'restart 4 of 99',
    'restart 5 of 99',
  ]);
  expect([7, 8, 9, 1000].map((count) => delayBeforeRestart(count, defaultRestartBackoff))).toEqual([
    32_000, 60_000, 60_000, 60_000,
  ]);
});

test('restart settings are read from the environment, and invalid ones are refused by name', () => {
  const env = {
    RINGRUN_RESTART_BACKOFF: '0.5',
    RINGRUN_RESTART_BACKOFF_MAX: '5',
    RINGRUN_HEALTHY_AFTER: '10',
  };
  expect(restartBackoffOf(env)).toEqual({ firstMs: 500, maxMs: 5000, healthyMs: 10_000 });
  expect(() => restartBackoffOf({ RINGRUN_HEALTHY_AFTER: 'soon' })).toThrow(
    'expected RINGRUN_HEALTHY_AFTER in seconds, from 0 to 86,400, got "soon"',
  );
});

test('a node that nothing can replace fails the job even if restarts are left', () => {
  const lost = { ...failure, nodesChanged: true, irreplaceable: 'node 1 (b, pid 2) died' };
  const reason = 'node 1 (b, pid 2) died; --max-restarts is 0';
  expect(decideRestart(lost, { ...budget, maxRestarts: 0 })).toEqual({ kind: 'fail', reason });
});
