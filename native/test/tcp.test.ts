import { describe, test } from 'vitest';

import { runRanks } from './fixtures/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537, 300_000];

describe.each([2, 3, 4, 5, 7, 8])('over TCP, %d ranks', (size) => {
  const hosts = Array.from({ length: size }, (_, rank) => rank);
  for (const s of ['everyAllReduce', 'everyReduce', 'everyReduceScatter', 'everyExchange', 'exchangeOfOverlappingBlocks'])
  test(s, async () => {
    await runRanks(hosts, s, { lengths: size > 4 ? lengths.slice(0, 5) : lengths, dtypes: ['float32', 'uint8'] });
  });
});
