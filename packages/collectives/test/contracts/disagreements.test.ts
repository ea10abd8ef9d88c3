import { hostname } from 'node:os';

import { expect, test } from 'vitest';

import { requestedExtent } from '../conformance/extent.ts';
import { settings as settingsOnCpu } from '../conformance/settings.ts';
import { startRanks } from '../support/ranks.ts';
import { settingsOverNccl } from '../nccl/settings.ts';

const settings = [...settingsOnCpu, ...settingsOverNccl];

/**
 * For each case of disagreements.js, the sides that the error of every rank must contain. `n`: the length on rank 0;
 * `odd`: the rank that differs, if only one does.
 */
const sidesOf = (n: number, odd: number): Record<string, string[]> => {
  const [short, exact, longer, longest] = [n - 1, n, n + 1, n + 2].map((count) => count.toLocaleString('en'));
  const three = (operation: (count: string) => string) =>
    [exact, longer, longest].map((count) => operation(count));
  const blocks = (rank: number, count: string, receiver: number, expected: string) =>
    `rank ${rank} sends ${count} elements to rank ${receiver}, which expects ${expected}`;
  return {
    op: [`${exact} elements, SUM)`, `${exact} elements, MAX)`],
    average: ['SUM, to rank 0', 'AVG, to rank 0'],
    opOfParts: ['reduceScatter #1 (float32, SUM)', '(float32, MIN)', '(float32, PRODUCT)'],
    dtype: [`(float32, ${exact}`, `(int32, ${exact}`],
    dtypeOf16Bits: [`(float16, ${exact}`, `(bfloat16, ${exact}`],
    dtypeOfParts: ['allGather #1 (float32)', '(int32)', '(uint32)'],
    count: three((count) => `allReduce #1 (float32, ${count} elements, SUM)`),
    countOfReduce: three((count) => `reduce #1 (float32, ${count} elements, SUM, to rank 0)`),
    countOfBroadcast: three((count) => `broadcast #1 (float32, ${count} elements, from rank 0)`),
    arraysOfCoalesced: ['(0 arrays, SUM)', '(float32, 1 array, SUM)', '(float32, 2 arrays, SUM)'],
    lengthsOfCoalesced: [
      `array 1 has ${exact} elements on rank 0 and ${longer} on rank 1`,
      `array 2 has ${exact} elements on rank 0 and ${short} on rank 1`,
      `array 1 has ${exact} elements on rank 0 and ${longest} on rank 2`,
    ],
    bitsOfQuantized: [`allReduceQuantized #1 (float32, ${exact} elements, AVG, 8 bits)`, 'AVG, 4 bits)'],
    countOfQuantized: three((count) => `allReduceQuantized #1 (float32, ${count} elements, SUM, 8 bits)`),
    rootOfBroadcast: ['from rank 0', 'from rank 1', 'from rank 2'],
    rootOfReduce: ['to rank 0', 'to rank 1', 'to rank 2'],
    rootOfGather: ['gather #1 (float32, to rank 0)', 'to rank 1', 'to rank 2'],
    rootOfScatter: ['scatter #1 (float32, from rank 0)', 'from rank 1', 'from rank 2'],
    partsOfAllGather: [blocks(0, exact, 1, longer), blocks(2, longest, 1, longer)],
    listsOfAllGather: [blocks(0, exact, 1, longer), blocks(0, exact, 2, longest)],
    partsOfReduceScatter: [
      `the input for rank 0 has ${exact} elements on rank 0 and ${longer} on rank 1`,
      `the input for rank 0 has ${exact} elements on rank 0 and ${longest} on rank 2`,
    ],
    listsOfReduceScatter: [
      `the input for rank 2 has ${longest} elements on rank 0 and ${longer} on rank 1`,
      `the input for rank 2 has ${longest} elements on rank 0 and ${exact} on rank 2`,
    ],
    partsOfAllToAll: [blocks(1, longer, 0, exact), blocks(1, longer, 2, longest)],
    splitsOfAllToAll: [blocks(odd, longer, (odd + 1) % 3, exact), blocks(odd, short, (odd + 2) % 3, exact)],
    partsOfGather: [blocks(1, longer, 0, exact), blocks(2, longest, 0, exact)],
    partsOfScatter: [blocks(0, exact, 1, longer), blocks(0, exact, 2, longest)],
    operation: ['allReduce #1', 'broadcast #1', 'barrier #1'],
    operationOfParts: ['allToAll #1', 'allGather #1', 'reduceScatter #1'],
    monitored: ['barrier #1', 'monitoredBarrier #1'],
    destroy: ['allReduce #1', 'destroy #1'],
  };
};

interface Refusal {
  message: string;
}

// In the short form, hosts with several ranks are left out: the leaders compare over TCP, as single ranks do, after the
// ranks of each host have compared in shared memory.
const ofThree = settings.filter(
  ({ size, transport }) => size === 3 && (transport !== 'mixed' || requestedExtent() === 'full'),
);
const cases = ofThree.flatMap((setting) => [
  ...(requestedExtent() === 'full' ? [{ ...setting, length: 10, odd: 1 }] : []),
  { ...setting, length: 200_000, odd: 2 },
]);

test.each(cases)(
  'all ranks that disagree over $transport see every side; $length elements stay unchanged',
  async ({ size, envOf, length, odd }) => {
    const sides = sidesOf(length, odd);
    await using group = await startRanks(size, 'disagreements', {
      args: { cases: Object.keys(sides), length, odd },
      envOf,
    });
    for (const { reported, ended } of group.ranks) {
      const { found } = (await reported('found')) as { found: Record<string, Refusal> };
      for (const [about, expected] of Object.entries(sides)) {
        const refusal = found[about];
        expect({ about, ...refusal }).toMatchObject({
          name: 'CollectiveMismatchError',
          untouched: true,
          refusesMore: true,
        });
        for (const side of expected) expect(refusal.message).toContain(side);
        for (const { rank, pid } of group.ranks)
          expect(refusal.message).toContain(`rank ${rank} (host ${hostname()}, pid ${pid})`);
        expect(refusal.message).not.toMatch(/reported by .* reported by/);
      }
      expect(await ended).toEqual({ code: 0, signal: null });
    }
  },
);
