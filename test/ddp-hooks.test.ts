import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { ways } from './support/extent.ts';
import { largestDifference } from './support/largest-difference.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('ddp-hooks.script'), temporaryFolder());

function largest(values: readonly number[]): number {
  return Math.max(...values.map(Math.abs));
}

type Compressed = Record<
  'exact' | 'allReduce' | 'fp16' | 'fp16ManyBuckets' | 'bf16' | 'rank2' | 'rank2ManyBuckets',
  number[]
>;

test.each(ways(['tcp'], ['shm']))(
  "%s: compressed gradients are within the format's precision and equal on all ranks",
  async (transport) => {
    const found = await scenarios.run<Compressed>(2, 'compressed', { transport });
    expect(found[1]).toEqual(found[0]);
    const { exact, ...by } = found[0];
    const scale = largest(exact);
    expect(scale).toBeGreaterThan(1);
    expect(by.allReduce).toEqual(exact);
    // The values of each rank and the average are rounded to half a unit in the last place: 2^-11 and 2^-8 of values
    // below 4.
    for (const [name, unit] of [
      ['fp16', 2 ** -11],
      ['bf16', 2 ** -8],
    ] as const) {
      expect(largestDifference(by[name], exact)).toBeLessThanOrEqual(2 * 4 * unit);
      expect(largestDifference(by[name], exact)).toBeGreaterThan(unit / 16);
    }
    expect(by.fp16ManyBuckets).toEqual(by.fp16);
    // Two directions represent a gradient of rank 2 exactly, up to rounding.
    for (const gradients of [by.rank2, by.rank2ManyBuckets]) {
      expect(largestDifference(gradients, exact)).toBeLessThan(1e-5 * scale);
      expect(gradients).not.toEqual(exact);
    }
  },
);

interface ErrorFeedback {
  exact: number[];
  withFeedback: number[];
  coldWithFeedback: number[];
  without: number[];
  late: number[][];
}

test('powerSgd: error feedback adds the lost directions in later steps; first steps are exact', async () => {
  const found = await scenarios.run<ErrorFeedback>(2, 'errorFeedback');
  expect(found[1]).toEqual(found[0]);
  const { exact, withFeedback, coldWithFeedback, without, late } = found[0];
  const scale = largest(exact);
  expect(largestDifference(without, exact)).toBeGreaterThan(0.1 * scale);
  // The remaining error after 64 steps is a few gradients, independent of the number of steps.
  for (const mean of [withFeedback, coldWithFeedback]) {
    expect(largestDifference(mean, exact)).toBeLessThan((6 / 64) * scale);
  }
  expect(late.slice(0, 2)).toEqual([exact, exact]);
  expect(largestDifference(late[2], exact)).toBeGreaterThan(0.1 * scale);
});

test('synchronous hooks return the same result as asynchronous ones', async () => {
  const found = await scenarios.run<Record<string, Record<'later' | 'sync', number[][]>>>(2, 'bothForms');
  expect(found[1]).toEqual(found[0]);
  const { allReduce, fp16, powerSgd } = found[0];
  for (const { later, sync } of [allReduce, fp16, powerSgd]) expect(sync).toEqual(later);
  // Three different hooks, and powerSgd's first step is exact.
  expect(fp16.sync[0]).not.toEqual(allReduce.sync[0]);
  expect(powerSgd.sync[0]).toEqual(allReduce.sync[0]);
  expect(powerSgd.sync[1]).not.toEqual(allReduce.sync[1]);
});

interface GoldenCase {
  rank: number;
  /** Of all gradients, by step. */
  averages: number[][];
  /** Of the compressed gradients after the last step, by rank. */
  errors: number[][];
}

test("powerSgd: averages and errors are those of torch's powerSGD_hook from the same factors", async () => {
  const golden = JSON.parse(
    readFileSync(new URL('golden/power_sgd.json', import.meta.url), 'utf8'),
  ) as GoldenCase[];
  const found = await scenarios.run<Record<string, { averages: number[][]; errors: number[] }>>(
    2,
    'powerSgdFromFactors',
  );
  expect(golden.map(({ rank }) => rank)).toEqual([1, 2, 4]);
  for (const { rank, averages, errors } of golden) {
    for (const [step, expected] of averages.entries()) {
      expect(found[1][rank].averages[step]).toEqual(found[0][rank].averages[step]);
      expect(largestDifference(found[0][rank].averages[step], expected)).toBeLessThan(2e-6);
    }
    for (const [i, expected] of errors.entries()) {
      expect(found[i][rank].errors).toHaveLength(expected.length);
      expect(largestDifference(found[i][rank].errors, expected)).toBeLessThan(4e-6);
    }
    expect(largest(errors[0])).toBeGreaterThan(0.5);
  }
});

test('powerSgd: a training that resumes with the states of the hook continues bit-identically', async () => {
  const found = await scenarios.run<{ step: number; whole: number[]; resumed: number[] }>(2, 'resumed');
  for (const { step, whole, resumed } of found) {
    expect(step).toBe(3);
    expect(resumed).toEqual(whole);
    expect(whole).toEqual(found[0].whole);
  }
});

interface OwnHook {
  exact: number[];
  doubled: number[];
  calls: unknown[];
}

test('a hook receives the buckets in order, and its result is the gradient', async () => {
  const found = await scenarios.run<OwnHook>(2, 'own');
  for (const { exact, doubled, calls } of found) {
    expect(doubled).toEqual(exact.map((value) => 2 * value));
    expect(calls).toEqual([
      { index: 0, isLast: false, shapes: [[32]], lengths: [32, 32], alive: true },
      '0 is over',
      { index: 1, isLast: true, shapes: [[32, 16]], lengths: [512, 512], alive: true },
      '1 is over',
    ]);
  }
});

test('a second hook and invalid options are refused', async () => {
  const [refusals] = await scenarios.run<string[]>(1, 'refused');
  expect(refusals).toEqual([
    expect.stringMatching(/^ERR_COMM_HOOK: registerCommHook: called a second time\. Call it once/),
    'ERR_INVALID_ARGUMENT: powerSgd: matrixApproximationRank: expected an integer of at least 1, got 0.',
    'ERR_INVALID_ARGUMENT: powerSgd: startPowerSgdIter: expected an integer of at least 0, got 1.5.',
    'ERR_INVALID_ARGUMENT: powerSgd: minCompressionRate: expected a number above 0, got -1.',
  ]);
});
