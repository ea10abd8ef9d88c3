import { describe, expect, test } from 'vitest';
import { cat, cdist, F, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { fillCoarse } from '../support/fill.ts';
import { checkCase, goldenFile, type GoldenCase, type GoldenFunctions } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// Functions at their limits, at eps, at ties, and at sizes that a factor preserves, as written by test/golden/bounds.py.

const cases = goldenFile('bounds') as readonly GoldenCase[];

const part = (x: Tensor, start: number, end: number) => cat([x.at([start, end]), x.at([0, 1]).mul(0)]);

const similarities: GoldenFunctions = {
  'of rows': (x, y) => F.cosineSimilarity(x, y),
  'of columns': (x, y) => F.cosineSimilarity(x, y, { dim: 0 }),
  'of short vectors': (x, y) => F.cosineSimilarity(x.mul(1e-5), y.mul(1e-5)),
  'of long vectors': (x, y) => F.cosineSimilarity(x.mul(1e15), y.mul(1e15)),
  'of a zero': (x, y) => F.cosineSimilarity(part(x, 0, 4), y, { eps: 0.25 }),
  'below eps': (x, y) => F.cosineSimilarity(x, y, { eps: 1.75 }),
  broadcast: (y) => F.cosineSimilarity(tensor(fillCoarse([2, 1], 3), [2, 1]).add(2.5), y),
  'broadcast, first': (x, y) =>
    F.cosineSimilarity(x.add(tensor(Float32Array.of(0, 1, 3), [3, 1])), y, { dim: 0 }),
  'of other ranks': (x, y) => F.cosineSimilarity(x, y, { dim: 2 }),
  'with one vector': (x, y) => F.cosineSimilarity(x, y),
};

const maxPools = { maxPool1d: F.maxPool1d, maxPool2d: F.maxPool2d, maxPool3d: F.maxPool3d };

const others: GoldenFunctions = {
  clamp: (x) => x.mul(2).clamp(-2, 1.5),
  'clamp min': (x) => x.clamp(-1),
  'clamp max': (x) => x.clamp(null, 1),
  'clamp, min above max': (x) => x.clamp(1, 0),
  'clamp to tensors': (x, y, z) => x.mul(2).clamp(y.sub(1), z.add(1)),
  'clamp to equal tensors': (x, y) => x.mul(2).clamp(y, y),
  'clamp to a tensor': (x, y) => x.clamp(y),
  hardswish: (x) => F.hardswish(x.mul(3)),
  hardsigmoid: (x) => F.hardsigmoid(x.mul(3)),
  hardtanh: (x) => F.hardtanh(x),
  relu6: (x) => F.relu6(x.mul(3).add(3)),
  elu: (x) => F.elu(x, 2),
  selu: (x) => F.selu(x),
  celu: (x) => F.celu(x, 2),
  softplus: (x) => F.softplus(x, { beta: 2, threshold: 2 }),
  softshrink: (x) => F.softshrink(x, 1),
  hardshrink: (x) => F.hardshrink(x, 1),
  threshold: (x) => F.threshold(x, 0, 5),
  leakyRelu: (x) => F.leakyRelu(x),
  logit: (x) => x.div(4).add(0.5).logit(0.25),
  expm1: (x) => x.expm1(),
  smoothL1Loss: (x, y) => F.smoothL1Loss(x, y, { reduction: 'none' }),
  huberLoss: (x, y) => F.huberLoss(x, y, { reduction: 'none' }),
  hingeEmbeddingLoss: (x) => F.hingeEmbeddingLoss(x, x.detach().sign().add(x.eq(0)), { reduction: 'none' }),
  marginRankingLoss: (x, y) => F.marginRankingLoss(x, y, y.mul(0).add(1), { reduction: 'none' }),
  'cdist of the largest': (x, y) => cdist(x, y, Infinity),
  xlogy: (x, y) => x.xlogy(y.add(2)),
  'pad circular': (x) => F.pad(x, [-1, 2], { mode: 'circular' }),
  'pad reflect': (x) => F.pad(x, [2, -1], { mode: 'reflect' }),
  normalize: (x) => F.normalize(part(x, 0, 3), { eps: 2 }),
};

/** The function of a case, whose name may contain numbers. */
function functionOf(name: string): (...inputs: Tensor[]) => Tensor {
  const [what] = name.split(' ', 1);
  const rest = name.slice(what.length + 1);
  if (what === 'cosineSimilarity') return similarities[rest];
  if (what in maxPools) {
    const [kernelSize, stride, padding, dilation] = rest.split(',').map(Number);
    return (x) => maxPools[what as 'maxPool1d'](x, kernelSize, { stride, padding, dilation, ceilMode: true });
  }
  if (what !== 'interpolate') return others[name];
  const [mode, ...factors] = rest.replaceAll(/[(),]/g, '').split(' ');
  const scaleFactor = factors.length === 1 ? Number(factors[0]) : (factors.map(Number) as [number, number]);
  return (x) => F.interpolate(x, { scaleFactor, mode: mode as F.InterpolationMode });
}

describe('values and gradients equal those of torch', () => {
  test.each(cases)('$name', async (one) => {
    await checkCase(one, { [one.name]: functionOf(one.name) }, fillCoarse);
  });

  test('of every function here', () => {
    const names = [
      ...Object.keys(similarities).map((name) => `cosineSimilarity ${name}`),
      ...Object.keys(others),
    ];
    expect(cases.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
  });
});

const gradientOf = async (elements: readonly number[], compute: (x: Tensor) => Tensor) => {
  const x = new Parameter(Float32Array.from(elements), [elements.length]);
  const y = compute(x);
  await y.sum().backward();
  return { y: [...(await y.array())], gradient: [...x.grad!] };
};

describe('NaN and infinities', () => {
  test('a NaN limit makes every element NaN', async () => {
    for (const [min, max] of [
      [NaN, null],
      [NaN, 1],
      [0, NaN],
      [tensor([NaN, NaN]), tensor([1, 1])],
    ] as const) {
      expect([...(await tensor(Float32Array.of(-3, 3)).clamp(min, max).array())]).toEqual([NaN, NaN]);
    }
  });

  test('stay NaN between limits, without a gradient', async () => {
    expect(await gradientOf([NaN, Infinity, -Infinity], (x) => x.clamp(-1, 2))).toEqual({
      y: [NaN, 2, -1],
      gradient: [0, 0, 0],
    });
  });

  test.each<[string, (x: Tensor) => Tensor, number[], number[]]>([
    ['hardswish', F.hardswish, [NaN, Infinity], [1, 1]],
    ['hardtanh', F.hardtanh, [NaN, 1], [1, 0]],
    ['threshold', (x) => F.threshold(x, 1, 5), [NaN, Infinity], [1, 1]],
    ['hardshrink', F.hardshrink, [NaN, Infinity], [1, 1]],
    ['softshrink', F.softshrink, [NaN, Infinity], [1, 1]],
    ['elu', F.elu, [NaN, Infinity], [1, 1]],
    ['abs', (x) => x.abs(), [NaN, Infinity], [0, 1]],
    ['sign', (x) => x.sign(), [0, 1], [0, 0]],
    [
      'huberLoss',
      (x) => F.huberLoss(x.at([1]), tensor(Float32Array.of(0)), { reduction: 'none' }),
      [Infinity],
      [0, 1],
    ],
  ])('%s has torch’s value and gradient', async (_, compute, y, gradient) => {
    expect(await gradientOf([NaN, Infinity], compute)).toEqual({ y, gradient });
  });
});

test('a vector shorter than eps is divided by eps, not by its square', async () => {
  const [similarity] = await F.cosineSimilarity(
    tensor(Float32Array.of(1e-5, 2e-5), [1, 2]),
    tensor(Float32Array.of(1e-5, 2e-5), [1, 2]),
  ).array();
  expect(similarity).toBeCloseTo(1, 6);
});

test('rejects invalid margins, and limits in the wrong order', () => {
  const x = tensor(Float32Array.of(1, 2), [1, 2]);
  expect(() => F.hardtanh(x, 1, -1)).toThrow('hardtanh: min must be at most max, got 1 and -1.');
  expect(() => F.tripletMarginLoss(x, x, x, { margin: 0 })).toThrow('margin must be above 0, got 0.');
});

describe('pools that round up along one axis alone', () => {
  const remainders = (shape: readonly number[]) => {
    const count = shape.reduce((a, b) => a * b, 1);
    return new Parameter(
      Float32Array.from({ length: count }, (_, k) => (7 * k) % 13),
      shape,
    );
  };
  const options = { padding: 1, ceilMode: true } as const;

  // torch's values, and the positions of its gradient that are 1 and 2.
  test.each<[string, (x: Tensor) => Tensor, number[], number[], number[], number[]]>([
    [
      'maxPool2d',
      (x) => F.maxPool2d(x, [2, 3], { ...options, dilation: [2, 1] }),
      [1, 2, 6, 5],
      [9, 11, 9, 11, 8, 9, 6, 8, 11, 12, 11, 12, 10, 11, 8, 10],
      [16, 18, 25, 29, 46, 48, 55, 59],
      [5, 9, 35, 37],
    ],
    [
      'maxPool3d',
      (x) => F.maxPool3d(x, [3, 2, 3], { ...options, dilation: [1, 2, 1] }),
      [1, 2, 3, 6, 5],
      [
        ...[11, 12, 11, 12, 10, 11, 8, 10, 7, 8, 12, 8, 12, 12, 10, 12],
        ...[11, 12, 11, 12, 12, 11, 12, 9, 6, 8, 11, 12, 11, 12, 10, 11],
      ],
      [46, 48, 55, 59, 66, 85, 139, 148, 155, 159, 176, 178],
      [35, 37, 68, 76, 89, 115, 126, 128, 165, 167],
    ],
  ])('%s has torch’s windows and gradient', async (_, pool, shape, maxima, once, twice) => {
    const x = remainders(shape);
    const pooled = pool(x);
    await pooled.sum().backward();
    expect([...(await pooled.array())]).toEqual(maxima);
    const placesWith = (times: number) => [...x.grad!.keys()].filter((place) => x.grad![place] === times);
    expect([placesWith(1), placesWith(2)]).toEqual([once, twice]);
    expect([...(await pool(x.detach()).array())]).toEqual(maxima);
  });
});
