import { describe, expect, test } from 'vitest';
import type { Lane } from '@ringrun/core';
import { offsetOf, onClockOfRank0 } from '../../../collectives/src/clock.ts';
import type { Activity } from '../../src/profiler/recorder.ts';
import { schedule } from '../../src/profiler/schedule.ts';
import { rowsOf, traceOf } from '../../src/profiler/trace.ts';

const activity = (
  lane: Lane,
  startedAt: number,
  endedAt: number,
  details?: Activity['details'],
): Activity => ({
  ...{ lane, name: `${lane} ${startedAt}`, startedAt, endedAt },
  ...(details && { details }),
});

const rank = (number: number, activities: Activity[]) => ({
  ...{ rank: number, host: `host${number}`, pid: 100 + number, activities, dropped: 0, clockErrorMs: 0.01 },
});

describe('schedule', () => {
  const recorded = (steps: number, options: Parameters<typeof schedule>[0]) =>
    Array.from({ length: steps }, (_, step) => step).filter((step) => schedule(options)(step) === 'record');

  test('equals torch.profiler.schedule', () => {
    expect(recorded(20, { skipFirst: 2, wait: 1, warmup: 1, active: 3, repeat: 2 })).toEqual([
      4, 5, 6, 9, 10, 11,
    ]);
    expect(recorded(9, { wait: 2, active: 1 })).toEqual([2, 5, 8]);
    expect(recorded(4, { wait: 0, active: 1 })).toEqual([0, 1, 2, 3]);
  });

  test.each([
    { wait: -1, active: 1 },
    { wait: 0, active: 0 },
    { wait: 0, active: 1.5 },
  ])('rejects %o', (options) => {
    expect(() => schedule(options)).toThrow('must be an integer of at least');
  });
});

describe('clocks', () => {
  test('the time of rank 0 is assumed at the midpoint of the round trip', () => {
    expect(offsetOf(100, 5052, 104)).toEqual({ at: 102, offset: 4950, roundTrip: 4 });
  });

  test('the offset is interpolated between two measurements', () => {
    const [first, last] = [
      { at: 1000, offset: 50, roundTrip: 0 },
      { at: 2000, offset: 51, roundTrip: 0 },
    ];
    expect([1000, 1500, 2000].map((time) => onClockOfRank0(time, first, last))).toEqual([1050, 1550.5, 2051]);
    expect(onClockOfRank0(1500, first, first)).toBe(1550);
  });
});

test('rows hold nested or disjoint activities; overlapping ones use further rows', () => {
  const [outer, inner, after, across] = [
    activity('communication', 0, 10),
    activity('communication', 2, 5),
    activity('communication', 10, 12),
    activity('communication', 4, 11),
  ];
  expect(rowsOf([after, across, inner, outer])).toEqual([[outer, inner, after], [across]]);
});

test('a trace has a process per rank, a row per lane, and µs from the first activity', () => {
  const { traceEvents, otherData } = traceOf([
    rank(0, [activity('compute', 1000.5, 1002), activity('communication', 1001, 1004, { bytes: 8 })]),
    rank(1, [activity('input', 1000, 1000.25)]),
  ]);
  const names = traceEvents.filter(({ ph }) => ph === 'M');
  const namedAs = (name: string) => names.filter((event) => event.name === name);
  expect(namedAs('process_name')).toMatchObject([
    { pid: 0, args: { name: 'rank' } },
    { pid: 1, args: { name: 'rank' } },
  ]);
  const rows = namedAs('thread_name').map(({ pid, args }) => `${pid} ${(args as { name: string }).name}`);
  const lanes = ['step', 'input', 'compute', 'waiting', 'communication', 'function'];
  expect(rows).toEqual([0, 1].flatMap((pid) => lanes.map((lane) => `${pid} ${lane}`)));
  const events = traceEvents.filter(({ ph }) => ph === 'X');
  expect(events.map(({ tid: _, ...event }) => event)).toEqual([
    { ph: 'X', pid: 0, name: 'compute 1000.5', cat: 'compute', ts: 500, dur: 1500 },
    {
      ph: 'X',
      pid: 0,
      name: 'communication 1001',
      cat: 'communication',
      ts: 1000,
      dur: 3000,
      args: { bytes: 8 },
    },
    { ph: 'X', pid: 1, name: 'input 1000', cat: 'input', ts: 0, dur: 250 },
  ]);
  expect(otherData).toEqual({ 'rank 0 clock error at most, µs': 10, 'rank 1 clock error at most, µs': 10 });
});

test('waits name the straggler: the rank that starts to wait last, per step and model', () => {
  const wait = (startedAt: number, step: number) => activity('waiting', startedAt, 100, { step });
  const { traceEvents } = traceOf([
    rank(0, [wait(0, 1), wait(10, 2), wait(30, 2), wait(50, 3)]),
    rank(1, [wait(5, 1), wait(8, 2), wait(32.5, 2)]),
  ]);
  const waits = traceEvents.flatMap((event) => (event.ph === 'X' ? [[event.pid, event.args]] : []));
  expect(waits).toEqual([
    [0, { step: 1, waitedForRank: 1, lateMs: 5 }],
    [0, { step: 2 }],
    [0, { step: 2, waitedForRank: 1, lateMs: 2.5 }],
    // Rank 1 has not recorded this wait.
    [0, { step: 3 }],
    [1, { step: 1 }],
    [1, { step: 2, waitedForRank: 0, lateMs: 2 }],
    [1, { step: 2 }],
  ]);
});
