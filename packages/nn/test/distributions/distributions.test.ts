import { afterEach, describe, expect, test } from 'vitest';
import {
  ArgumentError,
  compileStep,
  distributions,
  manualSeed,
  optim,
  Parameter,
  ShapeError,
  tensor,
  zeros,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

const { Bernoulli, Categorical, Exponential, Independent, klDivergence, Laplace, Normal, Uniform } =
  distributions;

const floats = (...data: number[]) => tensor(Float32Array.from(data));
const numbers = async (x: Tensor) => [...(await x.array())].map(Number);

afterEach(() => {
  distributions.setDefaultValidateArgs(true);
});

describe('samples', () => {
  const draws = 40_000;

  test.each([
    ['Normal', new Normal(floats(1, -2), floats(0.5, 3))],
    ['Laplace', new Laplace(floats(1, -2), floats(0.5, 3))],
    ['Exponential', new Exponential(floats(0.5, 3))],
    ['Uniform', new Uniform(floats(1, -2), floats(1.5, 3))],
  ])('of %s follow its cumulative distribution', async (_, distribution) => {
    manualSeed(1);
    const samples = distribution.sample([draws]);
    expect(samples.shape).toEqual([draws, 2]);
    const below = distribution.cdf(samples);
    for (const column of [0, 1]) {
      const sorted = (await numbers(below.select(1, column))).sort((a, b) => a - b);
      const distance = Math.max(...sorted.map((p, i) => Math.max(p - i / draws, (i + 1) / draws - p)));
      // Kolmogorov-Smirnov: exceeded with a probability of 10⁻⁶.
      expect(distance).toBeLessThan(2.7 / Math.sqrt(draws));
    }
  });

  test.each([
    ['Bernoulli', new Bernoulli({ logits: floats(-1, 2, 0) }), [0.26894, 0.8808, 0.5]],
    ['Categorical', new Categorical(tensor(Float32Array.of(1, 3, 4, 0, 1, 0), [3, 2])), [0.75, 0, 0]],
  ])('of %s have its mean and shape', async (_, distribution, means) => {
    manualSeed(2);
    const samples = distribution.sample(draws / 4, 4);
    expect(samples.shape).toEqual([draws / 4, 4, 3]);
    const found = await numbers(samples.float().mean([0, 1]));
    for (const [i, mean] of means.entries()) {
      const deviation = Math.sqrt((mean * (1 - mean)) / draws);
      expect(Math.abs(found[i] - mean)).toBeLessThanOrEqual(5 * deviation + 1e-5);
    }
  });

  test('take a shape as numbers, as a list and by name, and are the same after the same seed', async () => {
    const distribution = new Normal(0, floats(1, 2));
    const draw = async (...given: distributions.SampleShape) => {
      manualSeed(3);
      return numbers(distribution.sample(...given));
    };
    const expected = await draw([3, 2]);
    expect(await draw(3, 2)).toEqual(expected);
    expect(await draw({ sampleShape: [3, 2] })).toEqual(expected);
    expect(distribution.sample().shape).toEqual([2]);
    expect(new Categorical({ logits: zeros(4) }).sample().shape).toEqual([]);
    expect(new Categorical({ logits: zeros(2, 4) }).sample([0]).shape).toEqual([0, 2]);
  });

  test('of Independent have the shape of the event, and one log-probability each', async () => {
    const distribution = new Independent(new Normal(zeros(2, 3, 4), 1), 2);
    expect([distribution.batchShape, distribution.eventShape]).toEqual([[2], [3, 4]]);
    const samples = distribution.rsample([5]);
    expect(samples.shape).toEqual([5, 2, 3, 4]);
    expect(distribution.logProb(samples).shape).toEqual([5, 2]);
    const bits = new Independent(new Bernoulli({ logits: zeros(3) }), 1);
    expect(bits.sample([2]).shape).toEqual([2, 3]);
    expect(await numbers(bits.logProb(floats(0, 1, 1)))).toEqual([expect.closeTo(-3 * Math.LN2)]);
  });
});

describe('gradients', () => {
  test('flow through rsample, and not through sample', async () => {
    const [loc, scale] = [new Parameter(Float32Array.of(1), []), new Parameter(Float32Array.of(2), [])];
    const distribution = new Normal(loc, scale);
    const samples = distribution.rsample([1000]);
    await samples.mean().backward();
    expect(loc.grad![0]).toBeCloseTo(1, 5);
    // The mean of the standard normal numbers.
    expect(scale.grad![0]).toBeCloseTo(((await samples.mean().item()) - 1) / 2, 5);
    expect(distribution.sample([2]).requiresGrad).toBe(false);
  });

  test('a policy of a compiled step learns the action that is rewarded', async () => {
    manualSeed(4);
    const logits = new Parameter(new Float32Array(3), [3]);
    const optimizer = new optim.Adam([logits], { lr: 0.1 });
    const step = compileStep(optimizer, () => {
      const policy = new Categorical({ logits });
      const actions = policy.sample([64]);
      const reward = actions.eq(1).float();
      const loss = policy.logProb(actions).mul(reward.sub(reward.mean())).mean().neg();
      return loss.sub(policy.entropy().mul(0.01));
    });
    for (let i = 0; i < 60; i += 1) await step();
    expect((await numbers(logits.softmax(-1)))[1]).toBeGreaterThan(0.9);
  });

  test('a compiled step fits a normal distribution by its divergence and by samples', async () => {
    manualSeed(5);
    const [loc, logScale] = [
      new Parameter(new Float32Array(2), [2]),
      new Parameter(new Float32Array(2), [2]),
    ];
    const target = new Normal(floats(1, -2), floats(0.5, 3));
    const optimizer = new optim.Adam([loc, logScale], { lr: 0.05 });
    const step = compileStep(optimizer, (isSampled: boolean) => {
      const own = new Normal(loc, logScale.exp());
      const samples = own.rsample([256]);
      const estimate = own.logProb(samples).sub(target.logProb(samples)).mean([0]);
      return (isSampled ? estimate : klDivergence(own, target)).sum();
    });
    for (let i = 0; i < 300; i += 1) await step(i % 2 === 0);
    const [first, second] = await numbers(loc);
    expect(Math.abs(first - 1)).toBeLessThan(0.15);
    expect(Math.abs(second + 2)).toBeLessThan(0.5);
  });
});

describe('probabilities of 0 and 1', () => {
  test('have finite entropies and the divergences of their limits', async () => {
    const certain = new Categorical(floats(0, 1, 0));
    expect(await certain.entropy().item()).toBeCloseTo(0, 4);
    const fair = new Categorical(floats(1, 1, 2));
    expect(await klDivergence(certain, fair).item()).toBeCloseTo(Math.log(4), 5);
    expect(await klDivergence(fair, certain).item()).toBe(Infinity);
    const [never, maybe, always] = [0, 0.25, 1].map((p) => new Bernoulli(floats(p)));
    expect(await klDivergence(never, maybe).item()).toBeCloseTo(-Math.log(0.75), 5);
    expect(await klDivergence(always, maybe).item()).toBeCloseTo(Math.log(4), 5);
    expect(await klDivergence(maybe, never).item()).toBe(Infinity);
    expect(await klDivergence(always, always).item()).toBe(0);
    const masked = new Categorical({ logits: floats(0, -Infinity, 0) });
    expect(await masked.entropy().item()).toBeCloseTo(Math.LN2, 5);
  });

  test('of Uniform, values outside have a log-probability of −∞', async () => {
    expect(await numbers(new Uniform(0, 2).logProb(floats(-1, 0, 1, 2)))).toEqual([
      -Infinity,
      expect.closeTo(-Math.LN2),
      expect.closeTo(-Math.LN2),
      -Infinity,
    ]);
    expect(await klDivergence(new Uniform(0, 3), new Uniform(0, 2)).item()).toBe(Infinity);
  });
});

test('modes and supports', async () => {
  expect(await numbers(new Bernoulli(floats(0.2, 0.5, 0.9)).mode)).toEqual([0, NaN, 1]);
  expect(await numbers(new Categorical(floats(0.2, 0.7, 0.1)).mode)).toEqual([1]);
  expect(await numbers(new Categorical({ logits: zeros(2, 3) }).enumerateSupport())).toEqual([
    0, 0, 1, 1, 2, 2,
  ]);
  expect(new Bernoulli({ probs: floats(0.2, 0.5, 0.9) }).enumerateSupport(false).shape).toEqual([2, 1]);
  expect(await new Normal(0, 1).perplexity().item()).toBeCloseTo(Math.sqrt(2 * Math.PI * Math.E), 4);
});

describe('errors', () => {
  test.each([
    [() => new Normal(0, -1), 'Normal: scale: expected numbers above 0, got -1.'],
    [() => new Normal(floats(0, NaN), 1), 'Normal: loc: expected numbers, got NaN.'],
    [() => new Bernoulli(1.5), 'Bernoulli: probs: expected numbers from 0 to 1, got 1.5.'],
    [() => new Bernoulli(), 'Bernoulli: expected probs or logits, got neither.'],
    [() => new Categorical(floats(1), floats(0)), 'Categorical: expected probs or logits, got both.'],
    [() => new Categorical(floats(1, -1)), 'Categorical: probs: expected numbers of at least 0, got -1.'],
    [() => new Uniform(2, 1), 'Uniform: expected low below high, got 2 and 1.'],
    [() => new Exponential(0), 'Exponential: rate: expected numbers above 0, got 0.'],
    [
      () => new Exponential(1).logProb(-1),
      'Exponential.logProb: value: expected numbers of at least 0, got -1.',
    ],
    [() => new Bernoulli(0.5).logProb(0.5), 'Bernoulli.logProb: value: expected 0 or 1, got 0.5.'],
    [
      () => new Categorical(floats(1, 1)).logProb(tensor([2])),
      'Categorical.logProb: value: expected integers from 0 to 1, got 2.',
    ],
    [() => new Laplace(0, 1).icdf(2), 'Laplace.icdf: value: expected numbers from 0 to 1, got 2.'],
    [
      () => new Bernoulli(0.5).rsample(),
      'Bernoulli.rsample: expected a distribution with rsample, got Bernoulli. Use sample()',
    ],
    [() => new Bernoulli(0.5).cdf(0), 'Bernoulli.cdf: expected a distribution with cdf, got Bernoulli.'],
    [
      () => new Independent(new Normal(0, 1), 1),
      'Independent: expected reinterpretedBatchNdims from 0 to 0, got 1.',
    ],
    [
      () => klDivergence(new Normal(0, 1), new Bernoulli(0.5)),
      'klDivergence: expected a pair of distributions with a known divergence, got Normal and Bernoulli.',
    ],
    [() => new Normal(0, 1).sample([-1]), 'sample: expected whole lengths of at least 0, got [-1].'],
    [
      () => new Normal('0' as never, 1),
      "Normal: loc must be a tensor, a number, a bigint or a boolean, got '0'.",
    ],
  ])('%#: name the argument', (act, message) => {
    expect(act).toThrow(ArgumentError);
    expect(act).toThrow(message);
  });

  test.each([
    [
      () => new distributions.MultivariateNormal(zeros(2)),
      'MultivariateNormal: expected one of covarianceMatrix, precisionMatrix and scaleTril, got none. Write new distributions.MultivariateNormal(loc, { scaleTril }).',
    ],
    [
      () => new distributions.MultivariateNormal(zeros(2), zeros(2, 2), zeros(2, 2)),
      'got covarianceMatrix and precisionMatrix.',
    ],
    [
      () => new distributions.Multinomial(0, floats(1, 1)),
      'Multinomial: totalCount must be a positive integer, got 0.',
    ],
    [
      () => new distributions.Multinomial(3, floats(1, 1)).logProb(floats(1, 1)),
      'Multinomial.logProb: value: expected vectors of integers of at least 0 with the sum 3, got [1, 1].',
    ],
    [
      () => new distributions.OneHotCategorical(floats(1, 1)).logProb(floats(1, 1)),
      'OneHotCategorical.logProb: value: expected vectors of one 1 and otherwise 0, got [1, 1].',
    ],
    [
      () => new distributions.Dirichlet(floats(1, 1)).logProb(floats(0.5, 0.6)),
      'Dirichlet.logProb: value: expected vectors of numbers of at least 0 with the sum 1, got [0.5, 0.6',
    ],
    [
      () => new distributions.Poisson(1).logProb(0.5),
      'Poisson.logProb: value: expected integers of at least 0, got 0.5.',
    ],
    [() => new distributions.Poisson(1).entropy(), 'Poisson.entropy: expected a distribution with entropy'],
    [() => new distributions.Geometric(0), 'Geometric: probs: expected numbers above 0 and up to 1, got 0.'],
    [
      () => new distributions.LogNormal(0, 1).logProb(-1),
      'LogNormal.logProb: value: expected numbers above 0',
    ],
    [
      () =>
        new distributions.TransformedDistribution(new Normal(0, 1), new distributions.TanhTransform()).mean,
      'TransformedDistribution.mean: expected a distribution with mean, got TransformedDistribution. It has no formula, in torch neither.',
    ],
    [
      () => new Independent(new Exponential(floats(1)), 1).expand([2]).baseDist.logProb(-1),
      'Exponential.logProb: value: expected numbers of at least 0, got -1.',
    ],
    [
      () => new distributions.TanhTransform({ cacheSize: 2 as never }),
      'Transform: expected 0 or 1 as cacheSize, got 2.',
    ],
    [() => new distributions.ComposeTransform([3 as never]), 'ComposeTransform: expected transforms, got 3.'],
    [
      () => new distributions.AffineTransform(0, 1, { eventDim: -1 }),
      'AffineTransform: expected a whole number of at least 0 as eventDim, got -1.',
    ],
    [
      () =>
        klDivergence(
          new distributions.LogNormal(0, 1),
          new distributions.TransformedDistribution(new Normal(0, 1), new distributions.TanhTransform()),
        ),
      'klDivergence: expected TransformedDistributions with equal transforms, got others.',
    ],
  ])('%#: of distributions and transforms name the argument', (act, message) => {
    expect(act).toThrow(ArgumentError);
    expect(act).toThrow(message);
  });

  test('of shapes that do not fit', () => {
    expect(() => new distributions.MultivariateNormal(zeros(3), zeros(2, 2))).toThrow(
      'MultivariateNormal: expected loc float32[…,N] and covarianceMatrix float32[…,N,N], got float32[3] and float32[2,2].',
    );
    expect(
      () => new distributions.MixtureSameFamily(new Categorical(floats(1, 1)), new Normal(zeros(3), 1)),
    ).toThrow('MixtureSameFamily: expected components of the batch […,2]');
    expect(() => new distributions.Dirichlet(zeros([]).add(1))).toThrow(ShapeError);
  });

  test('of shapes that do not broadcast, and of classes without a dimension', () => {
    expect(() => new Normal(zeros(3), floats(1, 2))).toThrow(ShapeError);
    expect(() => new Categorical(zeros([]).add(1))).toThrow(
      'Categorical: expected float32[…,C] with C of at least 1',
    );
  });

  test('are not checked without validateArgs', async () => {
    expect(await new Exponential(1, { validateArgs: false }).logProb(-1).item()).toBe(1);
    expect(await new Exponential({ rate: 1, validateArgs: false }).logProb(-1).item()).toBe(1);
    distributions.setDefaultValidateArgs(false);
    expect(await numbers(new Normal(0, -1).mean)).toEqual([0]);
  });
});

test('divergences of distributions without common values are infinite, and equal transforms are recognized', async () => {
  expect(await klDivergence(new Normal(0, 1), new Exponential(1)).item()).toBe(Infinity);
  expect(await klDivergence(new distributions.Poisson(1), new Bernoulli(0.5)).item()).toBe(Infinity);
  const shifted = (loc: number, by: number) =>
    new distributions.TransformedDistribution(new Normal(loc, 1), [
      new distributions.AffineTransform(by, 2),
      new distributions.TanhTransform(),
    ]);
  expect(await klDivergence(shifted(0, 3), shifted(2, 3)).item()).toBeCloseTo(2, 5);
  expect(() => klDivergence(shifted(0, 3), shifted(2, 4))).toThrow('equal transforms');
});

test('inverse transforms undo theirs', async () => {
  const transform = new distributions.ComposeTransform([
    new distributions.AffineTransform(1, -2),
    new distributions.ExpTransform(),
  ]);
  const x = floats(-1, 0.5);
  const { inv } = transform;
  expect(await numbers(inv.forward(transform.forward(x)))).toEqual(
    [-1, 0.5].map((e) => expect.closeTo(e, 5) as unknown),
  );
  const [there, back] = [
    transform.logAbsDetJacobian(x, transform.forward(x)),
    inv.logAbsDetJacobian(transform.forward(x), x),
  ];
  expect(await numbers(there.add(back))).toEqual([0, 0]);
  expect(inv.inv).toBe(transform);
});

test('modes of Gamma, Dirichlet, StudentT and MixtureSameFamily', async () => {
  expect(await numbers(new distributions.Gamma(floats(0.5, 3), 2).mode)).toEqual([0, 1]);
  expect(await numbers(new distributions.Dirichlet(floats(0.5, 0.7)).mode)).toEqual([0, 1]);
  expect(await numbers(new distributions.StudentT(floats(1, 2, 4)).variance)).toEqual([NaN, Infinity, 2]);
  expect(await numbers(new distributions.StudentT(floats(1, 2), 5).mean)).toEqual([NaN, 5]);
  expect(await numbers(new distributions.Cauchy(0, 1).mean)).toEqual([NaN]);
  expect(await numbers(new distributions.HalfNormal(2).logProb(floats(1).neg()))).toEqual([-Infinity]);
});

test('registerKl adds the divergence of a subclass, before that of its class', async () => {
  class Unit extends Normal {
    constructor() {
      super(0, 1);
    }
  }
  const normal = new Normal(1, 2);
  const before = await klDivergence(new Unit(), normal).item();
  expect(before).toBeCloseTo(Math.LN2 + 2 / 8 - 0.5, 5);
  distributions.registerKl(Unit, Unit, () => floats(7));
  expect(await klDivergence(new Unit(), new Unit()).item()).toBe(7);
  expect(await klDivergence(new Unit(), normal).item()).toBe(before);
});
