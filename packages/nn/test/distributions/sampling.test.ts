import { describe, expect, test } from 'vitest';
import {
  compileStep,
  distributions,
  manualSeed,
  optim,
  Parameter,
  tensor,
  zeros,
  type Tensor,
} from '../../src/index.ts';
import { standardGammaSlope } from '../../src/distributions/gamma-sampling.ts';
import { goldenFile } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

const floats = (...data: number[]) => tensor(Float32Array.from(data));
const numbers = async (x: Tensor) => [...(await x.array())].map(Number);
const draws = 40_000;

describe('samples follow the cumulative distribution', () => {
  test.each([
    ['Cauchy', new distributions.Cauchy(floats(1, -2), floats(0.5, 3))],
    ['Gumbel', new distributions.Gumbel(floats(1, -2), floats(0.5, 3))],
    ['HalfNormal', new distributions.HalfNormal(floats(0.5, 3))],
    ['HalfCauchy', new distributions.HalfCauchy(floats(0.5, 3))],
    ['LogNormal', new distributions.LogNormal(floats(1, -2), floats(0.5, 1))],
    [
      'TransformedDistribution',
      new distributions.TransformedDistribution(new distributions.Normal(floats(0, 1), 0.5), [
        new distributions.TanhTransform(),
        new distributions.AffineTransform(0, -2),
      ]),
    ],
    [
      'MixtureSameFamily',
      new distributions.MixtureSameFamily(
        new distributions.Categorical(tensor(Float32Array.of(1, 3, 2, 2), [2, 2])),
        new distributions.Normal(tensor(Float32Array.of(-2, 2, 0, 1), [2, 2]), 0.5),
      ),
    ],
    // Beta(1, b), Gamma(1, r), StudentT(1) and Chi2(2) have simple cumulative distributions.
    ['Gamma', new distributions.Gamma(1, floats(0.5, 3)), new distributions.Exponential(floats(0.5, 3))],
    ['Chi2', new distributions.Chi2(floats(2, 2)), new distributions.Exponential(floats(0.5, 0.5))],
    ['Beta', new distributions.Beta(floats(1, 1), 1), new distributions.Uniform(floats(0, 0), 1)],
    ['StudentT', new distributions.StudentT(1, floats(1, -2), 2), new distributions.Cauchy(floats(1, -2), 2)],
  ] as const)('%s', async (_, distribution, known: distributions.Distribution = distribution) => {
    manualSeed(1);
    const samples = distribution.sample([draws]);
    expect(samples.shape).toEqual([draws, 2]);
    const below = known.cdf(samples);
    for (const column of [0, 1]) {
      const sorted = (await numbers(below.select(1, column))).sort((a, b) => a - b);
      const distance = Math.max(...sorted.map((p, i) => Math.max(p - i / draws, (i + 1) / draws - p)));
      // Kolmogorov-Smirnov: exceeded with a probability of 10⁻⁶.
      expect(distance).toBeLessThan(2.7 / Math.sqrt(draws));
    }
  });
});

describe('samples have the mean and the variance', () => {
  test.each([
    ['Poisson', new distributions.Poisson(floats(0, 0.3, 9.9, 10, 40, 5000))],
    ['Geometric', new distributions.Geometric(floats(0.05, 0.5, 1))],
    ['Gamma', new distributions.Gamma(floats(0.05, 0.5, 3, 100), 2)],
    ['Beta', new distributions.Beta(floats(0.5, 5), floats(2, 0.3))],
    ['StudentT', new distributions.StudentT(floats(9, 30), 1, 2)],
    ['Dirichlet', new distributions.Dirichlet(floats(0.3, 4, 1))],
    ['OneHotCategorical', new distributions.OneHotCategorical(floats(1, 3, 0))],
    ['Multinomial', new distributions.Multinomial(6, floats(1, 3, 0))],
    [
      'MultivariateNormal',
      new distributions.MultivariateNormal(floats(1, -2), tensor(Float32Array.of(2, 1, 1, 3), [2, 2])),
    ],
  ])('of %s', async (_, distribution) => {
    manualSeed(2);
    const samples = distribution.sample([draws / 4, 4]);
    expect(samples.shape).toEqual([draws / 4, 4, ...distribution.batchShape, ...distribution.eventShape]);
    const centered = samples.sub(distribution.mean);
    const squares = centered.square();
    const [means, errors, variances, spreads, expected] = await Promise.all(
      [
        centered.mean([0, 1]),
        centered.std([0, 1]),
        squares.mean([0, 1]),
        squares.std([0, 1]),
        distribution.variance,
      ].map(numbers),
    );
    for (const [i, variance] of expected.entries()) {
      expect(Math.abs(means[i])).toBeLessThanOrEqual((5 * errors[i]) / Math.sqrt(draws) + 1e-6);
      expect(Math.abs(variances[i] - variance)).toBeLessThanOrEqual(
        (5 * spreads[i]) / Math.sqrt(draws) + 1e-6,
      );
    }
  });

  test('of Poisson have the probability of each count', async () => {
    manualSeed(3);
    for (const rate of [3, 12]) {
      const distribution = new distributions.Poisson(rate);
      const samples = await numbers(distribution.sample([draws]));
      const counts = Array.from({ length: 30 }, (_, k) => k);
      const probabilities = await numbers(distribution.logProb(floats(...counts)).exp());
      for (const [k, p] of probabilities.entries()) {
        const found = samples.filter((count) => count === k).length / draws;
        expect(Math.abs(found - p)).toBeLessThanOrEqual(5 * Math.sqrt((p + 1e-4) / draws));
      }
    }
  });
});

describe('gradients of rsample', () => {
  test('of gamma numbers are those of torch', async () => {
    const { gammaSlopes } = goldenFile('distributions') as {
      gammaSlopes: readonly (readonly [a: number, x: number, slope: number])[];
    };
    const column = (place: number) => floats(...gammaSlopes.map((row) => row[place]));
    const slopes = await numbers(standardGammaSlope(column(0), column(1)));
    for (const [i, [a, x, expected]] of gammaSlopes.entries()) {
      expect(slopes[i], `at ${a} and ${x}`).toBeCloseTo(expected, 3);
    }
  });

  test('have the expected value of the gradient of the mean', async () => {
    manualSeed(4);
    const first = new Parameter(Float32Array.of(0.5, 2, 9), [3]);
    const second = new Parameter(Float32Array.of(1, 3, 2), [3]);
    const distribution = new distributions.Gamma(first, second);
    await distribution.rsample([draws]).mean([0]).sum().backward();
    for (const [i, [a, b]] of [
      [0.5, 1],
      [2, 3],
      [9, 2],
    ].entries()) {
      expect(Math.abs(first.grad![i] - 1 / b)).toBeLessThan(0.02);
      expect(Math.abs(second.grad![i] + a / b ** 2)).toBeLessThan(0.02);
    }
    const alpha = new Parameter(Float32Array.of(2), []);
    await new distributions.Beta(alpha, 3).rsample([draws]).mean().backward();
    expect(alpha.grad![0]).toBeCloseTo(3 / 25, 2);
  });

  test('pass straight through OneHotCategoricalStraightThrough', async () => {
    const logits = new Parameter(Float32Array.of(0, Math.log(3)), [2]);
    const sample = new distributions.OneHotCategoricalStraightThrough({ logits }).rsample();
    expect((await numbers(sample)).toSorted()).toEqual([0, 1]);
    await sample.select(0, 1).backward();
    expect(logits.grad![1]).toBeCloseTo(0.25 * 0.75, 5);
  });
});

test('a squashed normal distribution with a cache has finite probabilities where tanh is 1', async () => {
  manualSeed(5);
  const of = (cacheSize: 0 | 1) =>
    new distributions.TransformedDistribution(
      new distributions.Normal(floats(12, -12), 0.1),
      [new distributions.TanhTransform({ cacheSize })],
      { validateArgs: false },
    );
  for (const draw of ['sample', 'rsample'] as const) {
    const exact = of(1);
    const action = exact[draw]([3]);
    expect((await numbers(action)).map(Math.abs)).toEqual([1, 1, 1, 1, 1, 1]);
    for (const one of await numbers(exact.logProb(action))) expect(one).toBeGreaterThan(15);
  }
  const inexact = of(0);
  expect(await numbers(inexact.logProb(inexact.sample()))).not.toEqual([expect.any(Number), Infinity]);
  expect((await numbers(inexact.logProb(inexact.sample()))).every(Number.isFinite)).toBe(false);
});

test('a compiled step fits a squashed normal distribution to a reward', async () => {
  manualSeed(6);
  const mean = new Parameter(new Float32Array(1), [1]);
  const optimizer = new optim.Adam([mean], { lr: 0.05 });
  const step = compileStep(optimizer, () => {
    const policy = new distributions.TransformedDistribution(
      new distributions.Normal(mean, 0.3),
      new distributions.TanhTransform({ cacheSize: 1 }),
    );
    const action = policy.rsample([64]);
    return action.sub(0.5).square().mean().add(policy.logProb(action).mean().mul(0.001));
  });
  for (let i = 0; i < 60; i += 1) await step();
  expect(Math.abs((await numbers(mean.tanh()))[0] - 0.55)).toBeLessThan(0.15);
});

describe('expand', () => {
  const { Normal } = distributions;
  test.each([
    new distributions.Bernoulli(floats(0.2, 0.7)),
    new distributions.Beta(floats(1, 2), 3),
    new distributions.Categorical({ logits: zeros(2, 3) }),
    new distributions.Cauchy(floats(1, 2), 3),
    new distributions.Chi2(floats(1, 2)),
    new distributions.Dirichlet(zeros(2, 3).add(1)),
    new distributions.Exponential(floats(1, 2)),
    new distributions.Gamma(floats(1, 2), 3),
    new distributions.Geometric({ logits: floats(1, 2) }),
    new distributions.Gumbel(floats(1, 2), 3),
    new distributions.HalfCauchy(floats(1, 2)),
    new distributions.HalfNormal(floats(1, 2)),
    new distributions.Independent(new Normal(zeros(2, 3), 1), 1),
    new distributions.Laplace(floats(1, 2), 3),
    new distributions.LogNormal(floats(1, 2), 3),
    new distributions.MixtureSameFamily(
      new distributions.Categorical({ logits: zeros(2, 3) }),
      new Normal(zeros(2, 3), 1),
    ),
    new distributions.Multinomial(2, { logits: zeros(2, 3) }),
    new distributions.MultivariateNormal(zeros(2, 2), tensor(Float32Array.of(2, 1, 1, 3), [2, 2])),
    new Normal(floats(1, 2), 3),
    new distributions.OneHotCategorical({ probs: zeros(2, 3).add(1) }),
    new distributions.OneHotCategoricalStraightThrough({ logits: zeros(2, 3) }),
    new distributions.Poisson(floats(1, 2)),
    new distributions.StudentT(floats(1, 2)),
    new distributions.TransformedDistribution(new Normal(zeros(2, 3), 1), [
      new distributions.AffineTransform(1, 2, { eventDim: 1 }),
    ]),
    new distributions.Uniform(floats(1, 2), 3),
  ])('%# repeats the batch', async (distribution) => {
    const expanded = distribution.expand([3, 2]);
    expect(expanded.constructor).toBe(distribution.constructor);
    expect([expanded.batchShape, expanded.eventShape]).toEqual([[3, 2], distribution.eventShape]);
    const value = distribution.sample();
    const one = await numbers(distribution.logProb(value));
    const all = await numbers(expanded.logProb(value.expand(3, ...value.shape)));
    expect(all).toEqual([...one, ...one, ...one].map((p) => expect.closeTo(p, 5) as unknown));
    expect(expanded.sample([4]).shape).toEqual([4, 3, 2, ...distribution.eventShape]);
    expect(() => distribution.expand([3])).toThrow('expand');
  });
});
