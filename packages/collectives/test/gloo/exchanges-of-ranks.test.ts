import { expect, test } from 'vitest';

import { runRanks, startRanks } from '../fixtures/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537];
const settings = ['shm', 'tcp'].flatMap((transport) => [1, 2, 3, 4].map((size) => ({ transport, size })));
const env = (transport: string) => ({ RINGRUN_TRANSPORT: transport });

test.each(settings)(
  'allGather, gather, scatter and allToAll over $transport on $size ranks bring every element to its place',
  async ({ transport, size }) => {
    await runRanks(size, 'flatExchanges', { args: { lengths }, env: env(transport) });
  },
);

test.each(settings)(
  'and lists of unequal lengths, empty ones among them, over $transport on $size ranks',
  async ({ transport, size }) => {
    await runRanks(size, 'unequalExchanges', { args: { lengths: [1, 1000, 40_000] }, env: env(transport) });
  },
);

test.each(settings)(
  'reduce and reduceScatter over $transport on $size ranks, with the tensors of other ranks left alone',
  async ({ transport, size }) => {
    await runRanks(size, 'reductions', { args: { lengths }, env: env(transport) });
  },
);

const operations = ['allGather', 'allToAll', 'reduceScatter', 'gather', 'scatter'];

test.each(
  ['shm', 'tcp'].flatMap((transport) =>
    operations.flatMap((what) => [10, 100_000].map((length) => ({ transport, what, length, odd: 1 }))),
  ),
)(
  'ranks that disagree on the lengths of $what over $transport all get one error, with $length elements untouched',
  async ({ transport, ...args }) => {
    const reports = await runRanks(3, 'unequalMismatch', { args, env: env(transport) });
    for (const report of reports) {
      expect(report).toMatchObject({ name: 'CollectiveMismatchError', untouched: true, sameAgain: true });
      expect(report['message']).toContain(args.what);
      expect(report['message']).toMatch(/rank 1 \(host /);
    }
  },
);

test.each(['shm', 'tcp'])('monitoredBarrier over %s names all ranks that are missing', async (transport) => {
  await using group = await startRanks(4, 'missedBarrier', {
    args: { absent: [1, 3], timeoutMs: 1500 },
    env: env(transport),
  });
  for (const rank of [0, 2]) {
    const report = await group.ranks[rank].reported('missing');
    expect(report).toMatchObject({ name: 'CollectiveTimeoutError', missing: [1, 3] });
    expect(report['message']).toMatch(/^monitoredBarrier #1 did not complete within 1500 ms/);
  }
});
