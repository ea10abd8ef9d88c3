import { expect, test } from 'vitest';
import type { CommHook, GradientBucket, ProcessGroup } from '@ringrun/core';
import { powerSgd } from '../../../src/ddp/hooks/index.ts';

/** Ranks with equal gradients. */
const group = { allReduce: () => Promise.resolve() } as unknown as ProcessGroup;

function bucketOf(shapes: readonly (readonly number[])[]): GradientBucket {
  const lengths = shapes.map((shape) => shape.reduce((product, size) => product * size, 1));
  const data = new Float32Array(lengths.reduce((sum, length) => sum + length, 0));
  const views = lengths.map((length, i) => {
    const begin = lengths.slice(0, i).reduce((sum, one) => sum + one, 0);
    return data.subarray(begin, begin + length);
  });
  const parameters = shapes.map((shape) => ({ shape })) as unknown as GradientBucket['parameters'];
  return { index: 0, isLast: true, data, parameters, gradients: () => views };
}

function fill({ data }: GradientBucket, seed: number): void {
  for (let i = 0; i < data.length; i += 1) data[i] = Math.sin(seed + i * i);
}

async function run(hook: CommHook, bucket: GradientBucket, from: number, to: number): Promise<Float32Array> {
  for (let step = from; step < to; step += 1) {
    fill(bucket, step);
    await hook(bucket, group);
  }
  return bucket.data.slice();
}

const options = { matrixApproximationRank: 2, startPowerSgdIter: 1 };
const empty = new Float32Array();

interface States {
  buckets: { iterations: number; factors: Float32Array; errors: Float32Array }[];
}
const dictOf = (state: CommHook['state']) => state!.stateDict() as States;
const dictsOf = (hook: CommHook) => structuredClone([dictOf(hook.state), dictOf(hook.rankState)]);

async function load(hook: CommHook, dicts: readonly States[]): Promise<void> {
  const [state, rankState] = structuredClone(dicts);
  await hook.state!.loadStateDict(state as never);
  await hook.rankState!.loadStateDict(rankState as never);
}

test('loaded states continue bit-identically, in a new hook and in one that has run', async () => {
  const bucket = bucketOf([[12, 9], [12]]);
  const whole = powerSgd(options);
  await run(whole, bucket, 0, 3);
  const saved = dictsOf(whole);
  const expected = await run(whole, bucket, 3, 5);
  const other = powerSgd(options);
  await run(other, bucket, 5, 9);
  for (const hook of [powerSgd(options), other, whole]) {
    await load(hook, saved);
    expect(dictsOf(hook)).toEqual(saved);
    expect(await run(hook, bucket, 3, 5)).toEqual(expected);
  }
});

test('states are empty before the first compressed step, and loading those begins anew', async () => {
  const bucket = bucketOf([[12, 9], [12]]);
  const hook = powerSgd(options);
  const before = dictsOf(hook);
  expect(before).toEqual([{ buckets: [] }, { buckets: [] }]);
  await run(hook, bucket, 0, 1);
  expect(dictOf(hook.state)).toEqual({ buckets: [{ iterations: 1, factors: empty }] });
  await run(hook, bucket, 1, 2);
  expect(dictOf(hook.state).buckets[0].factors).toHaveLength(2 * 9);
  expect(dictOf(hook.rankState).buckets[0].errors).toHaveLength(12 * 9);
  await load(hook, before);
  expect(dictsOf(hook)).toEqual([
    { buckets: [{ iterations: 0, factors: empty }] },
    { buckets: [{ errors: empty }] },
  ]);
});

test('without error feedback there is no error, and without warm start factors are random', async () => {
  const bucket = bucketOf([[12, 9]]);
  const hook = powerSgd({ ...options, startPowerSgdIter: 0, useErrorFeedback: false, warmStart: false });
  const results: Float32Array[] = [];
  for (let step = 0; step < 2; step += 1) results.push(await run(hook, bucket, 1, 2));
  expect(dictOf(hook.rankState).buckets[0].errors).toHaveLength(0);
  expect(results[1]).not.toEqual(results[0]);
});

test('gradients of zeros do not end the compression of later ones', async () => {
  const bucket = bucketOf([[12, 9]]);
  const hook = powerSgd({ ...options, startPowerSgdIter: 0 });
  for (let step = 0; step < 2; step += 1) {
    bucket.data.fill(0);
    await hook(bucket, group);
    expect(bucket.data.every((value) => value === 0)).toBe(true);
  }
  // Of rank 1.
  const gradient = Float32Array.from(bucket.data, (_, i) => (1 + Math.floor(i / 9)) * (2 - (i % 9)));
  bucket.data.set(gradient);
  await hook(bucket, group);
  for (const [i, value] of bucket.data.entries()) expect(value).toBeCloseTo(gradient[i], 3);
});

test('NaN in a gradient is in the result', async () => {
  const bucket = bucketOf([[12, 9]]);
  const hook = powerSgd({ ...options, startPowerSgdIter: 0 });
  fill(bucket, 0);
  bucket.data[5] = NaN;
  await hook(bucket, group);
  expect(bucket.data.some(Number.isNaN)).toBe(true);
});

test('states of another model, and a second model, are refused', async () => {
  const bucket = bucketOf([[12, 9]]);
  const hook = powerSgd(options);
  await run(hook, bucket, 0, 1);
  const wrong = { buckets: [{ iterations: 4, factors: new Float32Array(5) }] };
  expect(() => hook.state!.loadStateDict(wrong as never)).toThrow(
    'powerSgd: the loaded state is of another training: expected bucket 0 with 18 numbers in factors, got 5. Use the same model, options of powerSgd and bucketCapMb.',
  );
  expect(dictOf(hook.state).buckets[0].iterations).toBe(1);
  await expect(hook(bucketOf([[12, 9]]), group)).rejects.toThrow(
    'powerSgd: expected the gradients of one model, got those of a second one. Create one hook for each model.',
  );
  const later = powerSgd(options);
  await later.state!.loadStateDict(wrong as never);
  await expect(later(bucket, group)).rejects.toThrow('18 numbers in factors, got 5');
  const more = powerSgd(options);
  const two = { buckets: [1, 2].map((iterations) => ({ iterations, factors: empty })) };
  await more.state!.loadStateDict(two as never);
  await expect(more(bucket, group)).rejects.toThrow('expected 2 buckets, got 1');
});
