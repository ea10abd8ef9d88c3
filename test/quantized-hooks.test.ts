import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { largestDifference } from './support/largest-difference.ts';
import { SharedScenarios } from './support/shared-scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new SharedScenarios(builtScript('quantized-hooks.script'), temporaryFolder());
/** Ranks in shared memory round nothing. */
const overTcp = { transport: 'tcp' };

interface Averages {
  exact: number[];
  int8: number[];
  int4: number[];
  meanWithFeedback: number[];
  meanWithout: number[];
  later: number[][];
  sync: number[][];
}

/** Of magnitudes up to 1: the two roundings of an average. */
const bounds = { int8: 1 / 127, int4: 1 / 7 };

test('int8Compress and int4Compress err by their bounds, equally on all ranks and in both forms', async () => {
  const found = await scenarios.run<Averages>(2, 'averages', overTcp);
  expect(found[1]).toEqual(found[0]);
  const { exact, later, sync, ...rounded } = found[0];
  for (const [name, bound] of Object.entries(bounds)) {
    const error = largestDifference(rounded[name as keyof typeof bounds], exact);
    expect(error).toBeLessThanOrEqual(bound * 1.001);
    expect(error).toBeGreaterThan(bound / 4);
  }
  expect(sync).toEqual(later);
});

test('error feedback divides the error of the mean by the steps', async () => {
  const [{ exact, meanWithFeedback, meanWithout }] = await scenarios.run<Averages>(2, 'averages', overTcp);
  // An error raises the largest magnitude of a block.
  expect(largestDifference(meanWithFeedback, exact)).toBeLessThan((1.2 * bounds.int4) / 32);
  expect(largestDifference(meanWithout, exact)).toBeGreaterThan(bounds.int4 / 4);
});

test('on one host, the hooks average exactly', async () => {
  const [{ exact, int8, int4 }] = await scenarios.run<Averages>(2, 'averages', { transport: 'shm' });
  expect([int8, int4]).toEqual([exact, exact]);
});

test('a training with int8Compress has the losses of one without a hook', async () => {
  const found = await scenarios.run<Record<'exact' | 'int8' | 'int4', number[]>>(2, 'losses', overTcp);
  const { exact, int8, int4 } = found[0];
  expect(exact.at(-1)!).toBeLessThan(0.7 * exact[0]);
  expect(int8).not.toEqual(exact);
  expect(Math.abs(int8.at(-1)! - exact.at(-1)!)).toBeLessThan(0.01);
  expect(Math.abs(int4.at(-1)! - exact.at(-1)!)).toBeLessThan(0.05);
});

test('NaN on one rank becomes NaN in its block on all ranks, for one step', async () => {
  const found = await scenarios.run<string[][]>(2, 'notANumber', overTcp);
  for (const steps of found) {
    expect(steps[0]).toEqual(['1.5', '1.5', 'NaN', 'NaN', '1.5', '1.5'].map((value) => expectNear(value)));
    expect(steps[1]).toEqual(steps[0].map(() => expectNear('1.5')));
  }
});

function expectNear(value: string): unknown {
  return value === 'NaN' ? value : (expect.stringMatching(/^1\.(49|50|51)/) as unknown);
}

test('a training that resumes with the error feedback continues bit-identically', async () => {
  const found = await scenarios.run<{ step: number; whole: number[]; resumed: number[] }>(
    2,
    'resumed',
    overTcp,
  );
  for (const { step, whole, resumed } of found) {
    expect(step).toBe(3);
    expect(resumed).toEqual(whole);
    expect(whole).toEqual(found[0].whole);
  }
});

test('unknown options, a second model and the state of another one are refused', async () => {
  const [refusals] = await scenarios.run<string[]>(1, 'refused');
  expect(refusals).toEqual([
    expect.stringMatching(/^int8Compress: .*feedback/),
    'int8Compress: expected the gradients of one model, got those of a second one. Create one hook for each model.',
    'int8Compress: the loaded state is of another training: expected bucket 0 with 4 numbers in errors, got 5. Use the same model, options of int8Compress and bucketCapMb.',
  ]);
});
