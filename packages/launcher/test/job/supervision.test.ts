import { describe, expect, test } from 'vitest';
import { msUntilKill, onRoundOver, onSignal, onTime, onWorkerFailed } from '../../src/job/supervision.ts';
import type { Supervision } from '../../src/job/supervision.ts';

const running: Supervision = { phase: 'running' };
const grace = 30_000;

test('after a failure, the other workers receive SIGTERM at once and SIGKILL 3 s later', () => {
  const { state, send } = onWorkerFailed(running, 1000, grace);
  expect(send).toBe('SIGTERM');
  expect(onTime(state, 3999).send).toBeUndefined();
  expect(onTime(state, 4000).send).toBe('SIGKILL');
});

test('after a failure, a worker that is writing a checkpoint has the whole grace period', () => {
  const { state } = onWorkerFailed(running, 1000, grace);
  expect(onTime(state, 4000)).toEqual({ state, send: 'SIGKILL', sparesSaving: true });
  expect(onTime(state, 30_999)).toEqual({ state, send: 'SIGKILL', sparesSaving: true });
  expect(onTime(state, 31_000)).toEqual({ state, send: 'SIGKILL' });
  // Its rank may be reassigned then.
  const cutOff = onRoundOver(state, 2000, 500, 500).state;
  expect(onTime(cutOff, 2500)).toEqual({ state: cutOff, send: 'SIGKILL' });
});

test('further failures change nothing', () => {
  const first = onWorkerFailed(running, 1000, grace).state;
  expect(onWorkerFailed(first, 2000, grace)).toEqual({ state: first });
});

describe('after a signal', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)(
    '%s is forwarded, and the grace period runs',
    (signal) => {
      const { state, send } = onSignal(running, signal, 1000, grace);
      expect(send).toBe(signal);
      expect(state).toMatchObject({ because: signal, killAt: 31_000 });
      expect(onTime(state, 30_999).send).toBeUndefined();
      expect(onTime(state, 31_000).send).toBe('SIGKILL');
    },
  );

  test('a worker that fails while stopping is not the reason', () => {
    const ending = onSignal(running, 'SIGTERM', 1000, grace).state;
    expect(onWorkerFailed(ending, 1500, grace)).toEqual({ state: ending });
  });

  test('a second Ctrl-C kills at once, but a duplicate of the first does not', () => {
    const ending = onSignal(running, 'SIGINT', 1000, grace).state;
    expect(onSignal(ending, 'SIGINT', 1010, grace)).toEqual({ state: ending });
    expect(onSignal(ending, 'SIGINT', 1500, grace)).toMatchObject({
      send: 'SIGKILL',
      state: { because: 'SIGINT' },
    });
  });

  test('a second SIGTERM does not shorten the grace period', () => {
    const ending = onSignal(running, 'SIGTERM', 1000, grace).state;
    expect(onSignal(ending, 'SIGTERM', 9000, grace)).toEqual({ state: ending });
  });

  test('the delay of the timer is 0 after the grace period, not negative', () => {
    const { state } = onSignal(running, 'SIGTERM', 1000, 0) as { state: Parameters<typeof msUntilKill>[0] };
    expect(msUntilKill(state, 1000.25)).toBe(0);
    expect(msUntilKill({ ...state, killAt: 1500 }, 1000)).toBe(500);
  });

  test('Ctrl-C kills workers at once that are stopping because of a failure', () => {
    const failing = onWorkerFailed(running, 1000, grace).state;
    expect(onSignal(failing, 'SIGINT', 2000, grace)).toMatchObject({
      send: 'SIGKILL',
      state: { because: 'failure' },
    });
  });
});

describe('at the end of a round', () => {
  test('workers receive SIGTERM, and SIGKILL after their time', () => {
    const { state, send } = onRoundOver(running, 1000, 5000);
    expect(send).toBe('SIGTERM');
    expect(onTime(state, 5999).send).toBeUndefined();
    expect(onTime(state, 6000).send).toBe('SIGKILL');
  });

  test('workers that are already stopping receive no more time, and the delay is not negative', () => {
    const ending = onSignal(running, 'SIGTERM', 1000, grace).state;
    expect(onRoundOver(ending, 2000, 500)).toEqual({ state: { ...ending, killAt: 2500, savingUntil: 2500 } });
    const failing = onWorkerFailed(running, 1000, grace).state;
    expect(onRoundOver(failing, 1000, grace)).toEqual({ state: failing });
  });
});
