import { expect, test } from 'vitest';

import { runRanks } from '../fixtures/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537, 1_000_000];
const transports = ['shm', 'tcp'];
const sizes = [1, 2, 3, 4];
const settings = transports.flatMap((transport) => sizes.map((size) => ({ transport, size })));

test.each(settings)(
  'allReduce over $transport on $size ranks gives the sums and averages of a formula, and the same bytes to everybody',
  async ({ transport, size }) => {
    const reports = await runRanks(size, 'allReduceMatrix', {
      args: { lengths },
      env: { RINGRUN_TRANSPORT: transport },
    });
    for (const report of reports) expect(report).toEqual(reports[0]);
    expect(reports[0]['transport']).toBe(transport);
  },
);

test.each(settings.filter(({ size }) => size <= 3))(
  'every op of every dtype over $transport on $size ranks gives the values of a formula, and the same bytes to everybody',
  async ({ transport, size }) => {
    const reports = await runRanks(size, 'dtypeMatrix', {
      args: { lengths: [0, 1, 7, 1000, 65_537] },
      env: { RINGRUN_TRANSPORT: transport },
    });
    for (const report of reports) expect(report).toEqual(reports[0]);
  },
);

test.each(settings)(
  'broadcast over $transport on $size ranks, from each of them',
  async ({ transport, size }) => {
    await runRanks(size, 'broadcastMatrix', {
      args: { lengths: [0, 1, 1000, 40_001, 400_001] },
      env: { RINGRUN_TRANSPORT: transport },
    });
  },
);

test.each(transports)(
  'a barrier over %s lets nobody through before everybody has come',
  async (transport) => {
    await runRanks(3, 'barriers', { env: { RINGRUN_TRANSPORT: transport } });
  },
);

test.each([
  { transport: 'shm', length: 1000 },
  { transport: 'shm', length: 200_003 },
  { transport: 'tcp', length: 1000 },
])('$length elements over $transport are added in the order of the ranks', async ({ transport, length }) => {
  const reports = await runRanks(3, 'sumsInRankOrder', {
    args: { length },
    env: { RINGRUN_TRANSPORT: transport },
  });
  for (const { hash, expected } of reports) expect(hash).toBe(expected);
});

test.each(transports)(
  'several operations over %s are in flight at once and settle in order',
  async (transport) => {
    const reports = await runRanks(2, 'outstanding', { env: { RINGRUN_TRANSPORT: transport } });
    for (const { settled, ticks } of reports) {
      expect(settled).toEqual(Array.from({ length: 5 }, () => [0, 1, 2, 3, 4]).flat());
      expect(ticks).toBeGreaterThan(0);
    }
  },
);

test.each(transports)(
  'destroy over %s waits for what was issued, detaches memory and refuses what follows',
  async (transport) => {
    const reports = await runRanks(3, 'leaveInOrder', { env: { RINGRUN_TRANSPORT: transport } });
    for (const report of reports)
      expect(report).toEqual({ detachedLength: 0, refused: 'ERR_GROUP_DESTROYED' });
  },
);

test.each(transports.flatMap((transport) => [1, 1000, 300_000].map((length) => ({ transport, length }))))(
  '$length elements over $transport arrive although their sender exits without destroy',
  async ({ transport, length }) => {
    const reports = await runRanks(3, 'exitWithoutDestroy', {
      args: { length },
      env: { RINGRUN_TRANSPORT: transport },
    });
    for (const report of reports) expect(report).toEqual({ done: true });
  },
);
