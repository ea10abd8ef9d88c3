import { describe, expect, test } from 'vitest';

import { ways } from '../../test/support/extent.ts';
import { runRanks } from './fixtures/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537];
/** Around the sizes at which the algorithms change. */
const turningPoints = [256, 1024, 2048, 2049];

const oneHost = (size: number) => Array.from({ length: size }, () => 0);

// Other numbers of ranks are in the short form of the conformance suite of packages/collectives, too.
describe.each(ways([3], [1, 2, 7]))('in shared memory, %d ranks', (size) => {
  const hosts = oneHost(size);

  test('allReduce gives everybody the sums and averages of a formula', async () => {
    await runRanks(hosts, 'everyAllReduce', { lengths: [...lengths, ...turningPoints], inRankOrder: true });
  });

  test('reduce gives them to the root, and leaves what the others have', async () => {
    await runRanks(hosts, 'everyReduce', { lengths: [...lengths, ...turningPoints], inRankOrder: true });
  });

  test('reduceScatter gives every rank its part, of equal and of unequal lengths', async () => {
    await runRanks(hosts, 'everyReduceScatter', { lengths, inRankOrder: true });
  });

  test('allGather, gather, scatter and allToAll move every block to its place', async () => {
    // Every element of every block for everybody: one dtype is enough for the largest group.
    const dtypes = size === 7 ? ['uint8'] : ['float32', 'uint8'];
    await runRanks(hosts, 'everyExchange', { lengths, dtypes });
  });

  test('an input may be overwritten as soon as its operation has returned', async () => {
    await runRanks(hosts, 'inputsAreFreeAfterwards', { rounds: 300 });
  });

  test('blocks that are given may overlap', async () => {
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

  test('in an exchange are all told which block differs, and nothing changes', async () => {
    const last = size - 1;
    const reports = await runRanks(hosts, 'exchangeThatDisagrees', { length });
    const expected = {
      ...inOneOperation([0, last], 'allToAll #1 (float32)'),
      message: `rank 0 sends ${count(length + 1)} elements to rank ${last}, which expects ${count(length)}`,
    };
    expect(reports).toEqual(hosts.map(() => expected));
  });

  test('in a reduceScatter are all told which inputs differ, and nothing changes', async () => {
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

  test('in a reduce are told both roots, and nothing changes', async () => {
    const reports = await runRanks(hosts, 'reduceThatDisagrees', { length });
    const to = (root: number) => `reduce #1 (float32, ${count(length)} elements, SUM, to rank ${root})`;
    reports.forEach(({ ranks, ...report }, rank) => {
      expect(report).toMatchObject({ code: 'MISMATCH', operation: to(rank === 0 ? 0 : 1), untouched: true });
      const sides = new Set((ranks as { seenIn: string }[]).map(({ seenIn }) => seenIn));
      expect([...sides].sort()).toEqual([to(0), to(1)]);
    });
  });
});
