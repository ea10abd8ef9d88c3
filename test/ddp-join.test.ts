import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { isFull, ways } from './support/extent.ts';
import { largestDifference } from './support/largest-difference.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('ddp-join.script'), temporaryFolder());

interface Epoch {
  said: string;
  values: number[];
  digest: string;
}

/** Expects bit-identical parameters on all ranks after each epoch. */
function expectAgreement(found: readonly (readonly Epoch[])[]): void {
  for (const epochs of found) expect(epochs).toEqual(found[0]);
}

let reference: Promise<number[][]> | undefined;
/** The result of one process without a group. Computed once, in the first test that needs it. */
const alone = () => (reference ??= scenarios.runAlone<number[][]>('alone'));

test.each(ways(['tcp'], ['shm']))(
  '%s: ranks with uneven batches train like one process on all samples of each step',
  async (transport) => {
    const one = await alone();
    const found = await scenarios.run<Epoch[]>(4, 'uneven', { transport });
    expectAgreement(found);
    for (const [epoch, { said, values }] of found[0].entries()) {
      expect(said).toBe(`epoch ${epoch}`);
      expect(largestDifference(values, one[epoch])).toBeLessThan(1e-5);
    }
    expect(largestDifference(one[1], one[0])).toBeGreaterThan(0.01);
  },
);

test('equal batches produce the same bytes with and without join', async () => {
  const found = await scenarios.run<Record<'joined' | 'without', Epoch[]>>(4, 'even');
  for (const { joined, without } of found) {
    expect(joined).toEqual(without);
    expect(joined).toEqual(found[0].joined);
  }
});

test('without follow, a join leaves parameters equal but not momenta', async () => {
  const found = await scenarios.run<Epoch[]>(4, 'withoutFollow');
  expectAgreement(found);
  const one = await alone();
  expect(largestDifference(found[3][0].values, one[0])).toBeLessThan(1e-5);
  expect(largestDifference(found[3][1].values, one[1])).toBeGreaterThan(1e-3);
});

test.runIf(isFull)(
  'a joined rank follows parameter checks, many buckets and hooks with several collectives',
  async () => {
    const found = await scenarios.run<Record<string, Epoch[]>>(4, 'otherWays');
    const one = await alone();
    for (const [way, tolerance] of Object.entries({
      verified: 1e-5,
      verifiedWithoutFollow: 1e-5,
      manyBuckets: 1e-5,
      fp16: 1e-2,
      powerSgd: 1,
    })) {
      expectAgreement(found.map((ways) => ways[way]));
      const last = found[0][way].length - 1;
      expect(largestDifference(found[0][way][last].values, one[last])).toBeLessThan(tolerance);
    }
  },
);

test('the divisor of gradients', async () => {
  const found = await scenarios.run<Record<string, number[]>>(3, 'divisors');
  const near = (values: number[]) => values.map((value) => expect.closeTo(value, 5) as number);
  for (const by of found) {
    expect(by).toEqual({
      // For 1, 2 and 4 samples; for 2 and 4; for 4.
      bySamples: near([(1 * 1 + 2 * 2 + 4 * 3) / 7, (2 * 2 + 4 * 3) / 6, 3]),
      bySetBatchSize: near([2, 2.5, 3]),
      byInitialWorldSize: near([(1 + 2 + 3) / 3, (2 + 3) / 3, 3 / 3]),
    });
  }
});

test('a world of one trains inside a join', async () => {
  const [by] = await scenarios.run<Record<string, number[]>>(1, 'divisors');
  expect(by).toEqual({ bySamples: [1], bySetBatchSize: [1], byInitialWorldSize: [1] });
});

test('buffers come from the first rank that trains, and at the end from the one with most steps', async () => {
  const found = await scenarios.run<number[][]>(3, 'buffers');
  for (const buffers of found) {
    expect(buffers).toEqual([
      [4, 0],
      // Steps of rank 0, then 1, then 2.
      [1 + 2 + 3, 0],
    ]);
  }
});

test('a join without batches does nothing; a nested join and an empty batch are refused', async () => {
  const found = await scenarios.run(2, 'nothing');
  for (const nothing of found) {
    expect(nothing).toEqual({
      nested: 'ERR_JOIN_UNDER_WAY',
      value: 'value',
      size: 'setBatchSize: expected a number of samples above 0, got 0.',
      same: true,
    });
  }
});

interface Problem {
  name: string;
  code: string;
  message: string;
  step: number;
}

const mending =
  'run the loop inside `await ddp.join(async () => { … })`, or give every rank the same number of batches';

test.each([
  ['leavesAndDestroys', 'destroy'],
  ['leavesForBarrier', 'barrier'],
])("%s: the other ranks' error names the rank, the step and the fix", async (scenario, operation) => {
  const [problem, left] = await scenarios.run<Problem>(2, scenario);
  expect(problem).toMatchObject({ name: 'UnevenInputsError', code: 'ERR_UNEVEN_INPUTS', step: 3 });
  expect(problem.message).toMatch(
    /^step 3 of DistributedDataParallel: the ranks called different operations\./,
  );
  expect(problem.message).toMatch(new RegExp(`rank 1 \\([^)]*\\): ${operation}`));
  expect(problem.message).toContain(mending);
  expect(left.code).toBe('ERR_COLLECTIVE_MISMATCH');
});

test('a rank that exits early is named with the step', async () => {
  const problem = await scenarios.runFirst<Problem>(2, 'leavesByExit');
  expect(problem).toMatchObject({ name: 'PeerDiedError', code: 'ERR_PEER_DIED' });
  expect(problem.message).toMatch(/^rank 1 \(.*needed in step 3 of DistributedDataParallel/);
  expect(problem.message).toContain(mending);
});
