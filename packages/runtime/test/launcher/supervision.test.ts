import { describe, expect, test } from 'vitest';
import {
  msUntilKill,
  onRoundOver,
  onSignal,
  onTime,
  onWorkerFailed,
} from '../../src/launcher/supervision.ts';
import type { Supervision } from '../../src/launcher/supervision.ts';

const running: Supervision = { phase: 'running' };
const grace = 30_000;

test('a failed worker: the others are told at once and killed 3 s later', () => {
  const { state, send } = onWorkerFailed(running, 1000, grace);
  expect(send).toBe('SIGTERM');
  expect(onTime(state, 3999).send).toBeUndefined();
  expect(onTime(state, 4000).send).toBe('SIGKILL');
});

test('a worker that is writing a checkpoint has the grace period, whoever has failed', () => {
  const { state } = onWorkerFailed(running, 1000, grace);
  expect(onTime(state, 4000)).toEqual({ state, send: 'SIGKILL', sparesSaving: true });
  expect(onTime(state, 30_999)).toEqual({ state, send: 'SIGKILL', sparesSaving: true });
  expect(onTime(state, 31_000)).toEqual({ state, send: 'SIGKILL' });
  // Others may get its rank then.
  const cutOff = onRoundOver(state, 2000, 500, 500).state;
  expect(onTime(cutOff, 2500)).toEqual({ state: cutOff, send: 'SIGKILL' });
});

test('further workers that fail change nothing', () => {
  const first = onWorkerFailed(running, 1000, grace).state;
  expect(onWorkerFailed(first, 2000, grace)).toEqual({ state: first });
});

describe('told to end', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)(
    '%s is passed on, and the grace period runs',
    (signal) => {
      const { state, send } = onSignal(running, signal, 1000, grace);
      expect(send).toBe(signal);
      expect(state).toMatchObject({ because: signal, killAt: 31_000 });
      expect(onTime(state, 30_999).send).toBeUndefined();
      expect(onTime(state, 31_000).send).toBe('SIGKILL');
    },
  );

  test('a worker that fails on the way is not the reason', () => {
    const told = onSignal(running, 'SIGTERM', 1000, grace).state;
    expect(onWorkerFailed(told, 1500, grace)).toEqual({ state: told });
  });

  test('a second Ctrl-C kills at once, but not the echo of the first', () => {
    const told = onSignal(running, 'SIGINT', 1000, grace).state;
    expect(onSignal(told, 'SIGINT', 1010, grace)).toEqual({ state: told });
    expect(onSignal(told, 'SIGINT', 1500, grace)).toMatchObject({
      send: 'SIGKILL',
      state: { because: 'SIGINT' },
    });
  });

  test('a second SIGTERM does not shorten the grace period', () => {
    const told = onSignal(running, 'SIGTERM', 1000, grace).state;
    expect(onSignal(told, 'SIGTERM', 9000, grace)).toEqual({ state: told });
  });

  test('the timer of a grace period that is over has a delay of 0, not a negative one', () => {
    const { state } = onSignal(running, 'SIGTERM', 1000, 0) as { state: Parameters<typeof msUntilKill>[0] };
    expect(msUntilKill(state, 1000.25)).toBe(0);
    expect(msUntilKill({ ...state, killAt: 1500 }, 1000)).toBe(500);
  });

  test('Ctrl-C kills at once what is ending because of a failure', () => {
    const failing = onWorkerFailed(running, 1000, grace).state;
    expect(onSignal(failing, 'SIGINT', 2000, grace)).toMatchObject({
      send: 'SIGKILL',
      state: { because: 'failure' },
    });
  });
});

describe('others go on without these workers', () => {
  test('they are told to end, and killed when their time is over', () => {
    const { state, send } = onRoundOver(running, 1000, 5000);
    expect(send).toBe('SIGTERM');
    expect(onTime(state, 5999).send).toBeUndefined();
    expect(onTime(state, 6000).send).toBe('SIGKILL');
  });

  test('those that end already get no more time than these, and no less than nothing', () => {
    const told = onSignal(running, 'SIGTERM', 1000, grace).state;
    expect(onRoundOver(told, 2000, 500)).toEqual({ state: { ...told, killAt: 2500, savingUntil: 2500 } });
    const failing = onWorkerFailed(running, 1000, grace).state;
    expect(onRoundOver(failing, 1000, grace)).toEqual({ state: failing });
  });
});
