import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { largestDifference } from './support/largest-difference.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios(builtScript('sparse.script'), temporaryFolder());
const three = scenarios.job(3, ['average', 'noSync', 'refuse', 'recommend']);
const one = scenarios.job(1, ['recommend']);
const overTcp = scenarios.job(2, ['recommend'], { transport: 'tcp' });

interface Gradients {
  sparse: ({ indices: number[]; values: number[] } | null)[];
  bias: number[];
}

const close = (numbers: number[]) => numbers.map((number): unknown => expect.closeTo(number, 6));
const third = 1 / 3;

test('the average has the rows of all ranks, which read several, one, or none', async () => {
  for (const { sparse, bias } of await three.of<Gradients>('average')) {
    expect(sparse).toEqual([
      { indices: [1, 4], values: close([2, 2, 2, 2].map((sum) => sum * third)) },
      { indices: [3], values: close([2, 2, 2].map((sum) => sum * third)) },
    ]);
    expect(bias).toEqual(close([4 * third]));
  }
});

test('passes in noSync keep their own rows, and the next pass averages the rows of all', async () => {
  const found = await three.of<{ inside: number; outside: Gradients; last: Gradients }>('noSync');
  for (const [rank, { inside, outside, last }] of found.entries()) {
    expect(inside).toBe([4, 2, 0][rank]);
    expect(outside.sparse[0]).toEqual({
      indices: [0, 1, 2, 4, 5],
      values: close([1, 3, 1, 2, 3].flatMap((sum) => [sum * third, sum * third])),
    });
    expect(outside.sparse[1]?.indices).toEqual([3]);
    // No rank has read the second table since.
    expect(last.sparse).toEqual([{ indices: [0], values: close([1, 1]) }, null]);
  }
});

test('models that cannot train with sparse gradients are refused with the reason', async () => {
  for (const messages of await three.of<string[]>('refuse')) {
    const [disagree, shared, join, dense, tied] = messages;
    expect(disagree).toContain('rank 0 has weight [4, 2] (sparse gradient); ranks 1, 2 have weight [4, 2].');
    expect(shared).toContain('shareParameters: expected dense gradients, got a sparse one of weight');
    expect(join).toContain('join: expected dense gradients, got a sparse one of weight');
    expect(dense).toContain('expected a dense gradient of parameter weight');
    expect(tied).toContain('expected a sparse gradient of parameter weight');
  }
});

interface Trained {
  first: number;
  last: number;
  elements: number[];
  digest: string;
}

test.each([
  ['three ranks in shared memory', three],
  ['two ranks over TCP', overTcp],
])('a recommender on %s trains as on one rank, with equal bits on all', async (_, job) => {
  const [alone] = await one.of<Trained>('recommend');
  const found = await job.of<Trained>('recommend');
  for (const { first, last, elements, digest } of found) {
    expect(first).toBeGreaterThan(1);
    expect(last).toBeLessThan(0.1);
    expect(largestDifference(elements, alone.elements)).toBeLessThan(2e-4);
    expect(digest).toBe(found[0].digest);
  }
});
