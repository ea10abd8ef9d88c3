import { describe, expect, test } from 'vitest';
import {
  ArgumentError,
  bernoulli,
  compileStep,
  defaultGenerator,
  manualSeed,
  multinomial,
  noGrad,
  optim,
  Parameter,
  rand,
  ShapeError,
  tensor,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

const floats = (data: readonly number[], shape?: readonly number[]) => tensor(Float32Array.from(data), shape);
const numbers = async (x: Tensor) => [...(await x.array())].map(Number);

/** Asserts that counts are as probable as probabilities say: χ² below its quantile of 1 − 10⁻⁶ for up to 8 degrees of freedom. */
function expectCounts(counts: readonly number[], probabilities: readonly number[]): void {
  const total = counts.reduce((sum, one) => sum + one, 0);
  let deviation = 0;
  for (const [i, p] of probabilities.entries()) {
    if (p === 0) expect(counts[i]).toBe(0);
    else deviation += (counts[i] - p * total) ** 2 / (p * total);
  }
  expect(deviation).toBeLessThan(43);
}

const countsOf = (positions: readonly number[], classes: number) =>
  Array.from({ length: classes }, (_, k) => positions.filter((one) => one === k).length);

describe('multinomial', () => {
  test('samples with replacement at the frequency of the weights, never a weight of 0', async () => {
    manualSeed(1);
    const weights = floats([0, 2, 0, 5, 3, 0, 4, 2, 0, 1, 1, 0], [2, 6]);
    const positions = multinomial(weights, 20_000, true);
    expect([positions.dtype, positions.shape]).toEqual(['int64', [2, 20_000]]);
    const drawn = await numbers(positions);
    expectCounts(countsOf(drawn.slice(0, 20_000), 6), [0, 0.2, 0, 0.5, 0.3, 0]);
    expectCounts(countsOf(drawn.slice(20_000), 6), [0.5, 0.25, 0, 0.125, 0.125, 0]);
  });

  test('samples pairs without replacement at the frequency of drawing one after the other', async () => {
    manualSeed(2);
    const [p, rows] = [[0.5, 0.2, 0.3], 20_000];
    const positions = floats(p).expand(rows, 3).multinomial(2);
    expect(positions.shape).toEqual([rows, 2]);
    const drawn = await numbers(positions);
    const pairs = Array.from({ length: rows }, (_, row) => drawn[2 * row] * 3 + drawn[2 * row + 1]);
    const probabilities = p.flatMap((first, i) =>
      p.map((second, j) => (i === j ? 0 : (first * second) / (1 - first))),
    );
    expectCounts(countsOf(pairs, 9), probabilities);
  });

  test('without replacement, weights of 0 come last, and all positions are a permutation', async () => {
    manualSeed(3);
    for (let draw = 0; draw < 20; draw += 1) {
      const pair = await numbers(floats([0, 1, 0, 1e-30]).multinomial(2));
      expect(pair.sort()).toEqual([1, 3]);
    }
    const all = await numbers(rand(50).add(0.1).multinomial(50));
    expect(all.sort((a, b) => a - b)).toEqual([...Array(50).keys()]);
  });

  test('is the same after the same seed, and another one in the next call', async () => {
    const draw = () => numbers(floats([1, 2, 3, 4]).multinomial(40, { replacement: true }));
    manualSeed(4);
    const first = await draw();
    expect(await draw()).not.toEqual(first);
    manualSeed(4);
    expect(await draw()).toEqual(first);
    defaultGenerator.manualSeed(4);
    expect(
      await numbers(multinomial(floats([1, 2, 3, 4]), 40, true, { generator: defaultGenerator })),
    ).toEqual(first);
  });

  test('the largest uniform number does not select a position past the last weight above 0', async () => {
    // 0.1 · 3 in float32: the product with 1 − 2⁻²⁴ rounds to the total.
    const top = { fillUniform: (array: Float32Array) => array.fill(1 - 2 ** -24) };
    const generator = Object.assign(Object.create(defaultGenerator) as typeof defaultGenerator, top);
    for (const weight of [0.1, 1, 3, 7e-5, 1e30]) {
      expect(await numbers(floats([0, weight, weight, 0, 0]).multinomial(1, true, { generator }))).toEqual([
        2,
      ]);
    }
  });

  test('weights that are not known at the call are sampled in a compiled step', async () => {
    const logits = new Parameter(Float32Array.of(0, 0, 3, 0), [4]);
    const optimizer = new optim.SGD([logits], { lr: 0.1 });
    const step = compileStep(optimizer, () => {
      const chosen = noGrad(() => logits.softmax(-1).multinomial(200, true));
      return [logits.logSoftmax(-1).gather(0, chosen).mean().neg(), { chosen }];
    });
    const draws = async () => numbers((await step())[1].chosen);
    manualSeed(5);
    const [first, second] = [await draws(), await draws()];
    expect(first).not.toEqual(second);
    expect(countsOf(first, 4)[2]).toBeGreaterThan(150);
  });

  test.each([
    [
      () => floats([1, 2]).multinomial(3),
      ArgumentError,
      'expected at most 2 samples without replacement, got 3.',
    ],
    [() => floats([1, -2]).multinomial(1), ArgumentError, 'expected finite weights of at least 0, got -2.'],
    [() => floats([1, NaN]).multinomial(1), ArgumentError, 'expected finite weights of at least 0, got NaN.'],
    [
      () => floats([1, 0]).multinomial(2),
      ArgumentError,
      'expected at least 2 weights above 0, got 1 in row 0.',
    ],
    [() => floats([1, 0, 0, 0], [2, 2]).multinomial(1), ArgumentError, 'above 0, got 0 in row 1.'],
    [() => floats([1, 0]).multinomial(0), ArgumentError, 'numSamples must be a positive integer, got 0.'],
    [() => tensor([1, 2]).multinomial(1), ShapeError, 'multinomial: expected float32[C] or float32[N,C]'],
    [() => rand(2, 2, 2).multinomial(1), ShapeError, 'multinomial: expected float32[C] or float32[N,C]'],
  ])('%#: refuses weights that have no samples', (act, kind, message) => {
    expect(act).toThrow(kind);
    expect(act).toThrow(message);
  });
});

describe('bernoulli', () => {
  test('equals torch’s samples after the same seed', async () => {
    manualSeed(1);
    expect(await numbers(bernoulli(floats([0.1, 0.5, 0.9, 0.5, 0.3, 0.6, 0, 1])))).toEqual([
      0, 1, 1, 0, 1, 0, 0, 1,
    ]);
  });

  test('samples ones at the frequency of p, in the dtype of the tensor', async () => {
    manualSeed(6);
    const p = floats([0.2, 0.7], [2, 1]).expand(2, 10_000);
    const [few, many] = await numbers(p.bernoulli().sum(1));
    expectCounts([few, 10_000 - few], [0.2, 0.8]);
    expectCounts([many, 10_000 - many], [0.7, 0.3]);
    expect(p.bfloat16().bernoulli().dtype).toBe('bfloat16');
    const ones = await p.bernoulli(0.4).sum().item();
    expectCounts([ones, 20_000 - ones], [0.4, 0.6]);
  });

  test('refuses numbers that are no probabilities', () => {
    const message = 'bernoulli: expected probabilities from 0 to 1, got';
    expect(() => floats([0.5, 1.5]).bernoulli()).toThrow(`${message} 1.5.`);
    expect(() => bernoulli(floats([0.5]), -1)).toThrow(`${message} -1.`);
    expect(() => tensor([1, 0]).bernoulli()).toThrow('bernoulli: expected float32, got int64[2].');
  });
});
