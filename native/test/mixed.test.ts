import { describe, expect, test } from 'vitest';

import { runRanks } from './fixtures/ranks.ts';

const lengths = [0, 1, 7, 1000, 65_537, 300_000];

/** By rank, the host: equal and unequal numbers of ranks, one of them alone, and ranks of two hosts in turns. */
const topologies = [
  [0, 0, 1],
  [0, 0, 1, 1],
  [0, 1, 0, 1],
  [0, 0, 0, 1, 1, 1, 2],
];

describe.each(topologies.map((hosts) => ({ hosts })))(
  'over shared memory and TCP, hosts $hosts',
  ({ hosts }) => {
    test.each(['everyAllReduce', 'everyReduce', 'everyReduceScatter', 'everyExchange'])(
      '%s gives the values of a formula',
      async (scenario) => {
        const dtypes = hosts.length > 4 ? ['uint8'] : ['float32', 'uint8'];
        await runRanks(hosts, scenario, { lengths, dtypes });
      },
    );

    test('an input may be overwritten as soon as its operation has returned', async () => {
      await runRanks(hosts, 'inputsAreFreeAfterwards', { rounds: 100 });
    });

    test('ranks that disagree about the root of a reduce are told both, and nothing changes', async () => {
      const reports = await runRanks(hosts, 'reduceThatDisagrees', { length: 1000 });
      for (const report of reports) expect(report).toMatchObject({ code: 'MISMATCH', untouched: true });
    });
  },
);
