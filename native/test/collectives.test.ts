import { describe, expect, test } from 'vitest';

import { runRanks } from './fixtures/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537, 300_000];
/** Around the sizes at which the algorithms change. */
const turningPoints = [256, 1024, 2048, 2049];

const oneHost = (size: number) => Array.from({ length: size }, () => 0);

describe.each([1, 2, 3, 4, 7])('in shared memory, %d ranks', (size) => {
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
    await runRanks(hosts, 'everyExchange', { lengths, dtypes: ['float32', 'uint8'] });
  });

  test('blocks that are given may overlap', async () => {
    await runRanks(hosts, 'exchangeOfOverlappingBlocks', { lengths });
  });
});
