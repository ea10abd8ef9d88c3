import { describe, expect, test } from 'vitest';

import { nativeOp } from '@ringrun/native';
import { ways } from '../../test/support/extent.ts';
import { runRanks } from './support/ranks.ts';

/** Around the sizes at which algorithms change: the last one is sent around rings and along chains. */
const lengths = [0, 1, 1000, 70_001];
const kinds = ['plain'];
const everywhere = [0, 1, 2, 3];

describe.each([
  { hosts: everywhere, hostOrder: [0, 2, 1, 3] },
  ...ways([{ hosts: [0, 0, 1, 1, 2, 2], hostOrder: [1, 0, 2] }], [{ hosts: [0, 1, 0], hostOrder: [1, 0] }]),
])('ranks on hosts $hosts, in the order $hostOrder', (route) => {
  test('have the results of any other order', async () => {
    await runRanks(route.hosts, ['everyAllReduce', 'everyReduce', 'everyBroadcast'], {
      lengths,
      kinds,
      ...route,
    });
  });

  test.each(ways([''], ['ring']))("exchange blocks by '%s' as without an order", async (algorithm) => {
    const blocks = { lengths: [0, 1, 20_000], dtypes: ['uint8'] };
    await runRanks(route.hosts, 'everyExchange', { ...blocks, algorithm, ...route });
  });
});

test('the order of hosts determines the order of additions, equally in every run', async () => {
  const sums = async (hostOrder?: number[]) =>
    await runRanks(everywhere, 'irregularSums', { lengths, hostOrder });
  const inOrder = await sums([0, 2, 1, 3]);
  expect(await sums([0, 2, 1, 3])).toEqual(inOrder);
  // Of a reduceScatter each rank has its own part.
  for (const { allReduce } of inOrder) expect(allReduce).toEqual(inOrder[0].allReduce);
  const usual = await sums();
  expect(usual).not.toEqual(inOrder);
  expect(await sums(everywhere)).toEqual(usual);
});

test('a rule replaces the algorithm of arrays up to its size, unless one is forced', async () => {
  const rules = [{ op: nativeOp.allReduce, upToBytes: 4 * 1000, algorithm: 'recursive-doubling' }];
  const sums = async (args: object) => {
    const [{ allReduce }] = await runRanks(everywhere, 'irregularSums', { lengths, ...args });
    return allReduce as string[];
  };
  const usual = await sums({});
  const doubling = await sums({ algorithm: 'recursive-doubling' });
  expect(await sums({ hostOrder: everywhere, rules })).toEqual([...doubling.slice(0, 3), usual[3]]);
  const ring = await sums({ algorithm: 'ring' });
  expect(doubling[2]).not.toBe(ring[2]);
  expect(await sums({ hostOrder: everywhere, rules, algorithm: 'ring' })).toEqual(ring);
});

test.each([
  { hosts: [0, 1, 2], count: 3 },
  { hosts: [0, 0, 1, 1], count: 2 },
  { hosts: [0, 0], count: 1 },
])(
  'the links of $count host(s) are measured in about a second, equally on all ranks',
  async ({ hosts, count }) => {
    const reports = await runRanks(hosts, 'measuredLinks', { hosts: count });
    for (const { table, refused, milliseconds } of reports) {
      expect(table).toEqual(reports[0]['table']);
      expect(refused).toMatch(`expected a table of 3 × ${count} × ${count} numbers`);
      expect(milliseconds).toBeLessThan(5000);
    }
    const table = reports[0]['table'] as number[];
    const others = count * (count - 1);
    const positive = (matrix: number) =>
      table.slice(matrix * count ** 2, (matrix + 1) * count ** 2).filter((one) => one > 0).length;
    expect([positive(0), positive(1), positive(2)]).toEqual([others, others, count > 2 ? others : 0]);
  },
);
