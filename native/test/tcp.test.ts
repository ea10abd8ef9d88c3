import { describe, expect, test } from 'vitest';

import { ways } from '../../test/support/extent.ts';
import { runRanks } from './support/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537];

/** TCP does not distinguish kinds of memory. */
const kinds = ['plain'];

const allElsewhere = (size: number) => Array.from({ length: size }, (_, rank) => rank);

// The conformance suite of packages/collectives covers the default algorithms; this file covers the alternatives, and
// behaviour specific to TCP.

test('over TCP, input blocks may overlap', async () => {
  await runRanks(allElsewhere(3), 'exchangeOfOverlappingBlocks', { lengths, kinds });
});

test.each(ways([4], [2]))(
  'over TCP, %d ranks: an input may be overwritten as soon as its operation has returned',
  async (size) => {
    await runRanks(allElsewhere(size), 'inputsAreFreeAfterwards', { rounds: 100 });
  },
);

describe.each([
  { algorithm: '', scenarios: [], sizes: ways([3], [4, 7]) },
  { algorithm: 'direct', scenarios: ['everyAllReduce', 'everyReduce'], sizes: ways([4], [3, 7]) },
  { algorithm: 'ring', scenarios: ['everyAllReduce'], sizes: ways([4], [3, 7]) },
  // For algorithms that pair ranks: all ranks have a partner, or some have none.
  { algorithm: 'halving-doubling', scenarios: ['everyAllReduce'], sizes: ways([3, 4], [7]) },
  { algorithm: 'recursive-doubling', scenarios: ['everyAllReduce'], sizes: ways([3, 4], [7]) },
  { algorithm: 'binomial-tree', scenarios: ['everyReduce'], sizes: ways([4], [3, 7]) },
])("reductions by '$algorithm'", ({ algorithm, scenarios, sizes }) => {
  test.each(sizes)(
    'on %d ranks equal a formula, rounded once, on all ranks and in every run',
    async (size) => {
      const hosts = allElsewhere(size);
      const args = { lengths, kinds, algorithm };
      const first = await runRanks(hosts, [...scenarios, 'sumsRoundedOnce', 'irregularSums'], args);
      // Each algorithm adds in its own order, so sums round differently, but equally on all ranks and in every run.
      const again = await runRanks(hosts, 'irregularSums', args);
      expect(again).toEqual(first);
      for (const { allReduce } of first) expect(allReduce).toEqual(first[0]['allReduce']);
    },
  );
});

describe.each(['direct', 'ring', 'bruck', 'pairwise'])("exchanges by '%s'", (algorithm) => {
  test.each(ways([3], [8]))('on %d ranks move every block to its place', async (size) => {
    await runRanks(allElsewhere(size), 'everyExchange', {
      lengths: [0, 1, 1000, 20_000],
      dtypes: ['uint8'],
      algorithm,
    });
  });
});

describe.each(ways([3], [2]))('%d ranks that disagree over TCP', (size) => {
  const hosts = allElsewhere(size);
  const last = size - 1;

  test.each([1000, 200_000])(
    'about a block of %d elements all receive an error that names it, and no data changes',
    async (length) => {
      const message = new RegExp(
        `rank 0 sends ${(length + 1).toLocaleString('en')} elements to rank ${last}, which expects`,
      );
      for (const report of await runRanks(hosts, 'exchangeThatDisagrees', { length })) {
        expect(report).toMatchObject({ code: 'MISMATCH', untouched: true, refusesMore: true });
        expect(report['ranks']).toMatchObject([{ rank: 0 }, { rank: last }]);
        expect(report['message']).toMatch(message);
      }
    },
  );

  test.each([1000, 200_000])(
    'about inputs of %d elements all receive an error that names them, and no data changes',
    async (length) => {
      for (const report of await runRanks(hosts, 'reduceScatterThatDisagrees', { length })) {
        expect(report).toMatchObject({ code: 'MISMATCH', untouched: true, refusesMore: true });
        expect(report['ranks']).toMatchObject(hosts.map((rank) => ({ rank })));
        expect(report['message']).toMatch(
          /the input for rank 0 has [\d,]+ elements on rank 0 and [\d,]+ on rank 1/,
        );
      }
    },
  );

  test.each([1000, 200_000])(
    'about the root of %d elements all receive an error with both, and no data changes',
    async (length) => {
      for (const { ranks, ...report } of await runRanks(hosts, 'reduceThatDisagrees', { length })) {
        expect(report).toMatchObject({ code: 'MISMATCH', untouched: true });
        const seen = (ranks as { seenIn: string }[]).map(({ seenIn }) => /to rank \d/.exec(seenIn)?.[0]);
        expect(new Set(seen)).toEqual(new Set(['to rank 0', 'to rank 1']));
      }
    },
  );

  // The first message of one rank belongs to a different operation each time, and has the expected length.
  test.each([
    { odd: 'broadcast', all: 'allReduce', algorithm: '' },
    { odd: 'allReduce', all: 'broadcast', algorithm: '' },
    { odd: 'allReduce', all: 'reduceScatter', algorithm: 'halving-doubling' },
    { odd: 'allReduce', all: 'reduceScatter', algorithm: 'recursive-doubling' },
    { odd: 'broadcast', all: 'reduceScatter', algorithm: 'chain' },
  ])('about $odd and $all ($algorithm) all receive an error, and no data changes', async (operations) => {
    for (const length of [10, 1000, 200_000]) {
      for (const report of await runRanks(hosts, 'operationsThatDisagree', { length, ...operations })) {
        expect(report).toMatchObject({ code: 'MISMATCH', untouched: true, refusesMore: true });
      }
    }
  });
});
