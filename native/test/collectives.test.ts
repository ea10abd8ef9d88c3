import { test } from 'vitest';

import { runRanks } from './fixtures/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537, 300_000];
const sizes = [1, 2, 3, 4, 7];
const oneHost = (size: number) => Array.from({ length: size }, () => 0);

test.each(sizes)('allReduce in shared memory on %d ranks', async (size) => {
  await runRanks(oneHost(size), 'everyAllReduce', {
    lengths: [...lengths, 1024, 2048, 2049],
    inRankOrder: true,
  });
});
