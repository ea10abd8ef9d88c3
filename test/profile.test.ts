import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Trace, TraceEvent } from '../packages/runtime/src/profiler/trace.ts';
import { builtScript } from './support/built-script.ts';
import { ways } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

type Complete = TraceEvent & { ph: 'X'; args?: Record<string, number> };

const folder = temporaryFolder();
const scenarios = new Scenarios(builtScript('profile.script'), folder);

const looked = new Set<string>();

/** Events of the latest trace, parsed as by a viewer, and the maximum difference of the ranks' clocks in µs. */
function newTrace(): { events: Complete[]; clockError: number } {
  const [run, ...others] = readdirSync(folder).filter((name) => !looked.has(name));
  expect(others).toEqual([]);
  looked.add(run);
  const made = join(folder, run, 'made');
  expect(readdirSync(made)).toEqual(['trace.json']);
  const { traceEvents, otherData } = JSON.parse(readFileSync(join(made, 'trace.json'), 'utf8')) as Trace;
  const events = traceEvents.filter((event) => event.ph === 'X') as Complete[];
  for (const { ts, dur } of events) {
    expect(ts).toBeGreaterThanOrEqual(0);
    expect(dur).toBeGreaterThanOrEqual(0);
  }
  expectRowsToNest(events);
  return { events, clockError: Number(otherData['rank 1 clock error at most, µs']) };
}

/** Within a row, an event ends before the next begins or contains it, except for a rounded nanosecond. */
function expectRowsToNest(events: readonly Complete[]): void {
  const rows = new Map<string, Complete[]>();
  for (const event of events) {
    const row = `${event.pid} ${event.tid}`;
    rows.set(row, [...(rows.get(row) ?? []), event]);
  }
  for (const row of rows.values()) {
    const open: number[] = [];
    for (const { ts, dur } of row) {
      while (open.length > 0 && open.at(-1)! <= ts + 0.002) open.pop();
      expect(ts + dur).toBeLessThanOrEqual((open.at(-1) ?? Infinity) + 0.002);
      open.push(ts + dur);
    }
  }
}

const milliseconds = (events: readonly Complete[]) => events.map(({ dur }) => dur / 1000);
const medianOf = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

describe('a rank whose input takes 200 ms longer', () => {
  test.each(ways(['tcp'], ['shm']))('is named in the trace as the straggler (%s)', async (transport) => {
    const slowness = 200;
    await scenarios.run(2, 'slowed', { transport });
    const { events, clockError } = newTrace();
    const of = (pid: number, cat: string) => events.filter((event) => event.pid === pid && event.cat === cat);
    for (const pid of [0, 1]) {
      expect(of(pid, 'step').map(({ name }) => name)).toEqual([2, 3, 4, 5, 6].map((step) => `step ${step}`));
      expect(of(pid, 'waiting').map(({ args }) => args!['step'])).toEqual([3, 4, 5, 6, 7]);
      expect(of(pid, 'input')).toHaveLength(5);
      expect(new Set(of(pid, 'compute').map(({ name }) => name))).toEqual(
        new Set(['forward and backward', 'optimizer.step']),
      );
      // Weights, biases, one number for each of them and one for the rank.
      const bytes = 4 * (320 + 10 + 2 + 1);
      expect(of(pid, 'communication').map(({ name, args }) => [name, args!['bytes']])).toEqual(
        Array.from({ length: 5 }, () => ['allReduce', bytes]),
      );
      expect(of(pid, 'function').map(({ name }) => name)).toEqual(Array.from({ length: 5 }, () => 'update'));
    }
    expect(medianOf(milliseconds(of(1, 'input')))).toBeGreaterThanOrEqual(slowness - 1);
    expect(medianOf(milliseconds(of(0, 'input')))).toBeLessThan(slowness / 2);
    // Rank 0 waits about as long as the input of rank 1 takes, and names rank 1.
    const [waited0, waited1] = [0, 1].map((pid) => medianOf(milliseconds(of(pid, 'waiting'))));
    expect(waited0).toBeGreaterThan(waited1 + slowness / 2);
    expect(of(0, 'waiting').filter(({ args }) => args!['waitedForRank'] === 1).length).toBeGreaterThanOrEqual(
      4,
    );
    // On one clock: no average ends before the last rank has started its own.
    expect(clockError).toBeLessThan(10_000);
    for (const [i, average] of of(0, 'communication').entries()) {
      expect(average.ts + average.dur).toBeGreaterThan(of(1, 'communication')[i].ts - clockError - 1);
    }
  });
});

test('records each operation of every group once, and leaves the groups unpatched', async () => {
  const [first, second] = await scenarios.run<{ sum: number; objects: number[]; left: number }>(2, 'covered');
  // Twice over two ranks, then over the default group.
  expect(first).toEqual({ sum: 8, objects: [0, 1], left: 0 });
  expect(second).toEqual(first);
  const { events } = newTrace();
  const names = [0, 1].map((pid) =>
    events
      .filter((event) => event.pid === pid && event.cat === 'communication')
      .map(({ name, args }) => [name, args!['bytes']]),
  );
  const shared = [
    ['allReduce', 100],
    ['allReduce', 100],
  ];
  expect(names).toEqual([
    [...shared, ['send', 100], ['allGatherObject', undefined]],
    [...shared, ['recv', 100], ['allGatherObject', undefined]],
  ]);
});

test('one profiler runs at a time; an empty trace is reported as empty', async () => {
  const said: unknown = expect.stringMatching(
    /^ringrun: the trace .* has no steps: the schedule includes none of the 0 steps/,
  );
  const results = await scenarios.run(2, 'refused', { stderr: said });
  expect(results).toEqual([{ second: 'ERR_PROFILE_UNDER_WAY' }, { second: 'ERR_PROFILE_UNDER_WAY' }]);
});

test('a path that rank 0 cannot write is refused on every rank before training', async () => {
  const said: unknown = expect.stringContaining('has no steps');
  const results = await scenarios.run<object>(2, 'unwritable', { stderr: said });
  const message: unknown = expect.stringMatching(
    /^profile: rank 0 cannot write the trace to .* \(it is a folder\)\. Pass/,
  );
  const refused = { code: 'ERR_INVALID_ARGUMENT', message };
  expect(results).toEqual([refused, refused]);
});
