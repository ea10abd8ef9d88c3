import { describe, expect, test } from 'vitest';

import { ways } from '../../test/support/extent.ts';
import { runRanks } from './support/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537];
/** Around the sizes at which the algorithms change. */
const turningPoints = [256, 1024, 2048, 2049];

const oneHost = (size: number) => Array.from({ length: size }, () => 0);

// The conformance suite of packages/collectives covers other numbers of ranks, even in its short form.
describe.each(ways([3], [1, 2, 7]))('in shared memory, %d ranks', (size) => {
  const hosts = oneHost(size);

  test('allReduce returns the sums and averages of a formula on all ranks', async () => {
    await runRanks(hosts, 'everyAllReduce', { lengths: [...lengths, ...turningPoints], inRankOrder: true });
  });

  test('reduce returns them on the root, and does not change the other tensors', async () => {
    await runRanks(hosts, 'everyReduce', { lengths: [...lengths, ...turningPoints], inRankOrder: true });
  });

  test('reduceScatter returns its part on every rank, for equal and unequal lengths', async () => {
    await runRanks(hosts, 'everyReduceScatter', { lengths, inRankOrder: true });
  });

  test('allGather, gather, scatter and allToAll move every block to its place', async () => {
    // Every rank receives every element of every block, so one dtype suffices for the largest group.
    const dtypes = size === 7 ? ['uint8'] : ['float32', 'uint8'];
    await runRanks(hosts, 'everyExchange', { lengths, dtypes });
  });

  test('an input may be overwritten as soon as its operation has returned', async () => {
    await runRanks(hosts, 'inputsAreFreeAfterwards', { rounds: 300 });
  });

  test('input blocks may overlap', async () => {
    await runRanks(hosts, 'exchangeOfOverlappingBlocks', { lengths });
  });
});

const settings = [3].flatMap((size) => [1000, 200_000].map((length) => ({ size, length })));

describe.each(settings)('$size ranks that disagree about some of $length elements', ({ size, length }) => {
  const hosts = oneHost(size);
  const count = (elements: number) => elements.toLocaleString('en');
  const inOneOperation = (ranks: number[], seenIn: string) => ({
    code: 'MISMATCH',
    operation: seenIn,
    ranks: ranks.map((rank) => ({ rank, seenIn })),
    untouched: true,
    refusesMore: true,
  });

  test('in an exchange all receive an error with the block that differs, and no data changes', async () => {
    const last = size - 1;
    const reports = await runRanks(hosts, 'exchangeThatDisagrees', { length });
    const expected = {
      ...inOneOperation([0, last], 'allToAll #1 (float32)'),
      message: `rank 0 sends ${count(length + 1)} elements to rank ${last}, which expects ${count(length)}`,
    };
    expect(reports).toEqual(hosts.map(() => expected));
  });

  test('in a reduceScatter all receive an error with the differing inputs, and no data changes', async () => {
    const others = hosts.map((_, rank) => rank).slice(1);
    const reports = await runRanks(hosts, 'reduceScatterThatDisagrees', { length });
    const messages = others.map(
      (rank) =>
        `the input for rank 0 has ${count(length)} elements on rank 0 and ${count(length + rank)} on rank ${rank}`,
    );
    const expected = {
      ...inOneOperation([0, ...others], 'reduceScatter #1 (float32, SUM)'),
      message: messages.join('; '),
    };
    expect(reports).toEqual(hosts.map(() => expected));
  });

  test('in a reduce receive an error with both roots, and no data changes', async () => {
    const reports = await runRanks(hosts, 'reduceThatDisagrees', { length });
    const to = (root: number) => `reduce #1 (float32, ${count(length)} elements, SUM, to rank ${root})`;
    reports.forEach(({ ranks, ...report }, rank) => {
      expect(report).toMatchObject({ code: 'MISMATCH', operation: to(rank === 0 ? 0 : 1), untouched: true });
      const sides = new Set((ranks as { seenIn: string }[]).map(({ seenIn }) => seenIn));
      expect([...sides].sort()).toEqual([to(0), to(1)]);
    });
  });
});
