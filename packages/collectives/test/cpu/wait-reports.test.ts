import { hostname } from 'node:os';

import { expect, test, vi } from 'vitest';

import { formatDuration, InvalidArgumentError } from '@ringrun/core';
import { waitReportsAfterMs } from '../../src/cpu/wait-reports.ts';
import { ways } from '../../../../test/support/extent.ts';
import type { RankProcess, Ranks } from '../support/ranks.ts';
import { startRanks } from '../support/ranks.ts';

const transports = ['shm', 'tcp'];

function nameOf({ rank, pid }: RankProcess): string {
  return `rank ${rank} (host ${hostname()}, pid ${pid})`;
}

/** Resolves when the ranks have logged the line `times` times, with any durations in it. */
async function sees({ ranks }: Ranks, line: string, times = 1): Promise<void> {
  await vi.waitFor(
    () => {
      expect(
        ranks.flatMap((rank) => linesOf(rank)).filter((one) => one === line).length,
        linesOf(ranks[0]).join('\n'),
      ).toBeGreaterThanOrEqual(times);
    },
    { timeout: 20_000, interval: 50 },
  );
}

function linesOf({ stderr }: RankProcess): string[] {
  const lines = stderr().split('\n');
  return lines.map((line) => line.replace(/\(\d+ m?s of .*\)$/, '(time)'));
}

test.each(ways(['shm'], ['tcp']))(
  'over %s, the lowest waiting rank reports a missing rank and its last operation',
  async (transport) => {
    await using group = await startRanks(3, 'lateRank', {
      env: { RINGRUN_TRANSPORT: transport, RINGRUN_WAIT_REPORT_S: '0.4' },
    });
    const late = group.ranks[2];
    const outside = `${nameOf(late)}, which is outside any collective, its last was`;
    const elements = '(float32, 2 elements, SUM)';

    // Reports come after 0.4, 2.4 and 9.6 s; the first may also name rank 1 if rank 1 is late too.
    await sees(
      group,
      `ringrun: rank 0: waiting in allReduce #2 ${elements} for ${outside} allReduce #1 (time)`,
    );
    await vi.waitFor(
      () => {
        expect(linesOf(group.ranks[0]).filter((line) => line.includes('allReduce #2 (')).length).toBe(2);
      },
      { timeout: 10_000, interval: 50 },
    );
    late.process.send('come');

    await sees(group, `ringrun: rank 0: waiting in barrier #3 for ${outside} allReduce #2 (time)`);
    late.process.send('come');

    await sees(
      group,
      `ringrun: rank 0: waiting in recv (float32, 2 elements, from rank 2, tag 0) for ${outside} barrier #3 (time)`,
    );
    late.process.send('come');
    for (const { ended } of group.ranks) expect(await ended).toEqual({ code: 0, signal: null });
    expect(late.stderr()).toBe('');
    // Rank 1 has waited as long as rank 0, which printed two lines; rank 1 prints at most one, if rank 0 was late.
    expect(linesOf(group.ranks[1]).filter((line) => line.includes('allReduce #2 (')).length).toBeLessThan(2);
  },
);

test('a report names the collective or the message in which another rank waits', async () => {
  await using group = await startRanks(2, 'crossed', { env: { RINGRUN_WAIT_REPORT_S: '0.4' } });
  const [first, second] = group.ranks;
  await sees(
    group,
    `ringrun: rank 0: waiting in recv (float32, 2 elements, from rank 1, tag 0) for ${nameOf(second)}, which is in barrier #1 (time)`,
  );
  await sees(
    group,
    `ringrun: rank 1: waiting in barrier #1 for ${nameOf(first)}, which is in recv (float32, 2 elements, from rank 1, tag 0) (time)`,
  );
  second.process.send('send');
  for (const { ended } of group.ranks) expect(await ended).toEqual({ code: 0, signal: null });
});

test.each(ways([90_000], [20_000, 1_800_000, 3_725_000, 7_200_000]))(
  'a report writes a timeout of %i ms as formatDuration does',
  async (timeoutMs) => {
    await using group = await startRanks(2, 'crossed', {
      args: { timeoutMs },
      env: { RINGRUN_WAIT_REPORT_S: '0.1' },
    });
    await vi.waitFor(
      () => {
        expect(group.ranks[0].stderr()).toMatch(/waiting in recv .*\(\d+ m?s of .*\)\n/);
      },
      { timeout: 10_000, interval: 20 },
    );
    expect(/ m?s of (.*)\)\n/.exec(group.ranks[0].stderr())?.[1]).toBe(formatDuration(timeoutMs));
    group.ranks[1].process.send('send');
    for (const { ended } of group.ranks) expect(await ended).toEqual({ code: 0, signal: null });
  },
);

test.each(transports)('over %s, a rank that does not connect is reported', async (transport) => {
  await using group = await startRanks(3, 'lateToConnect', {
    env: { RINGRUN_TRANSPORT: transport, RINGRUN_WAIT_REPORT_S: '0.2' },
  });
  const late = group.ranks[2];
  await sees(
    group,
    `ringrun: rank 0: waiting in connect for ${nameOf(late)}, which has not connected yet (time)`,
  );
  late.process.send('come');
  for (const { ended } of group.ranks) expect(await ended).toEqual({ code: 0, signal: null });
});

test('reports begin after 5 s, or RINGRUN_WAIT_REPORT_S seconds; 0 disables them', () => {
  expect(waitReportsAfterMs({})).toBe(5000);
  expect(waitReportsAfterMs({ RINGRUN_WAIT_REPORT_S: '0.25' })).toBe(250);
  expect(waitReportsAfterMs({ RINGRUN_WAIT_REPORT_S: '0' })).toBe(0);
  for (const value of ['-1', '5s', 'Infinity'])
    expect(() => waitReportsAfterMs({ RINGRUN_WAIT_REPORT_S: value })).toThrow(InvalidArgumentError);
});
