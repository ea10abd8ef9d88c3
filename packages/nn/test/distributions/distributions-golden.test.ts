import { expect, test } from 'vitest';
import { distributions, eye, manualSeed, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { checkGolden, goldenFile, type GoldenCase } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/distributions.py`.

const {
  AffineTransform,
  Bernoulli,
  Beta,
  Categorical,
  Cauchy,
  Chi2,
  ComposeTransform,
  Dirichlet,
  Exponential,
  ExpTransform,
  Gamma,
  Geometric,
  Gumbel,
  HalfCauchy,
  HalfNormal,
  Independent,
  klDivergence,
  Laplace,
  LogNormal,
  MixtureSameFamily,
  Multinomial,
  MultivariateNormal,
  Normal,
  OneHotCategorical,
  Poisson,
  SigmoidTransform,
  SoftplusTransform,
  StudentT,
  TanhTransform,
  TransformedDistribution,
  Uniform,
} = distributions;
type Make = (a: Tensor, b: Tensor) => distributions.Distribution;
type Function = (...inputs: Tensor[]) => Tensor;

const golden = goldenFile('distributions') as {
  samples: Record<string, readonly number[]>;
  cases: readonly GoldenCase[];
};

const probability = (x: Tensor) => x.mul(0.45).add(0.5);
const bits = (x: Tensor) =>
  tensor(fill([3, 4], 9), [3, 4])
    .gt(0)
    .float()
    .add(x.mul(0));
const classes = (...shape: number[]) => {
  const count = shape.reduce((product, size) => product * size, 1);
  return tensor(
    Array.from({ length: count }, (_, i) => (i * 5) % 4),
    shape,
  );
};
const floats = (...data: number[]) => tensor(Float32Array.from(data));

const normal: Make = (a, b) => new Normal(a, b.exp());
const laplace: Make = (a, b) => new Laplace(a, b.exp());
const exponential: Make = (a, b) => new Exponential(a.add(b).exp());
const uniform: Make = (a, b) => new Uniform(a.sub(2), b.exp());
const bernoulli: Make = (a, b) => new Bernoulli({ logits: a.mul(3).add(b) });
const bernoulliOfProbs: Make = (a, b) => new Bernoulli(probability(a).mul(probability(b)));
const categorical = (a: Tensor, b: Tensor) => new Categorical({ logits: a.mul(3).add(b) });
const categoricalOfProbs = (a: Tensor, b: Tensor) => new Categorical(probability(a).mul(probability(b)));
const independent: Make = (a, b) => new Independent(normal(a, b), 1);

const cauchy: Make = (a, b) => new Cauchy(a, b.exp());
const gumbel: Make = (a, b) => new Gumbel(a, b.exp());
const halfNormal: Make = (a, b) => new HalfNormal(a.add(b).exp());
const halfCauchy: Make = (a, b) => new HalfCauchy(a.add(b).exp());
const logNormal: Make = (a, b) => new LogNormal(a, b.exp());
const student: Make = (a, b) => new StudentT(b.exp().add(2.1), a, a.add(b).exp());
const gamma: Make = (a, b) => new Gamma(a.mul(3).exp(), b.exp());
const chi2: Make = (a, b) => new Chi2(a.mul(3).add(b).exp());
const beta: Make = (a, b) => new Beta(a.mul(3).exp(), b.exp());
const dirichlet: Make = (a, b) => new Dirichlet(a.mul(3).add(b).exp());
const poisson: Make = (a, b) => new Poisson(a.mul(3).add(b).exp());
const geometric: Make = (a, b) => new Geometric({ logits: a.add(b) });
const geometricOfProbs: Make = (a, b) => new Geometric(probability(a).mul(probability(b)));
const oneHot: Make = (a, b) => new OneHotCategorical({ logits: a.mul(3).add(b) });
const multinomial: Make = (a, b) => new Multinomial(5, { logits: a.mul(3).add(b) });
const products = (a: Tensor) => a.unsqueeze(-1).mul(a.unsqueeze(-2));
const diagonal = (a: Tensor) => eye(4).mul(a.unsqueeze(-1));
const covariance = (a: Tensor) => products(a).add(diagonal(a.square().add(0.5)));
const multivariate = (a: Tensor, b: Tensor) =>
  new MultivariateNormal(b, { scaleTril: products(a).tril(-1).add(diagonal(a.exp())) });
const ofCovariance: Make = (a, b) => new MultivariateNormal(b, covariance(a));
const ofPrecision: Make = (a, b) => new MultivariateNormal(b, { precisionMatrix: covariance(a) });
const tanhNormal: Make = (a, b) => new TransformedDistribution(normal(a, b), new TanhTransform());
const several: Make = (a, b) =>
  new TransformedDistribution(normal(a, b), [
    new SigmoidTransform(),
    new AffineTransform(b.exp(), b.exp().add(1).neg()),
    new SoftplusTransform(),
  ]);
const composed: Make = (a, b) =>
  new TransformedDistribution(
    normal(a, b),
    new ComposeTransform([new AffineTransform(b, b.exp(), { eventDim: 1 }), new ExpTransform()]),
  );
const mixture: Make = (a, b) => new MixtureSameFamily(new Categorical({ logits: b }), normal(a, b));
const vectorMixture: Make = (a, b) =>
  new MixtureSameFamily(new Categorical({ logits: a.select(1, 0) }), new Independent(normal(a, b), 1));
const insideUnit: Make = (a, b) => new Uniform(a.mul(0.2).add(0.5), probability(b).mul(0.2).add(0.75));
const aboveZero: Make = (a, b) => new Uniform(a.exp(), b.exp().add(3));

const counts = (x: Tensor) => x.mul(2).add(2).floor().detach().add(x.mul(0));
const firstRow = (x: Tensor) => x.select(0, 0);

type Moment = 'entropy' | 'mean' | 'variance' | 'stddev' | 'mode';
const usual: readonly Moment[] = ['entropy', 'mean', 'variance', 'stddev'];

/** The members of a distribution of two parameters; `value` takes the third input to the support. */
function members(
  name: string,
  make: Make,
  value: (x: Tensor) => Tensor,
  withCdf: readonly ('cdf' | 'icdf')[] = [],
  moments = usual,
): Record<string, Function> {
  const ofMoments = moments.map((moment): [string, Function] => [
    `${name}.${moment}`,
    (a, b) => (moment === 'entropy' ? make(a, b).entropy() : make(a, b)[moment]),
  ]);
  return {
    [`${name}.logProb`]: (a, b, x) => make(a, b).logProb(value(x)),
    ...Object.fromEntries(ofMoments),
    ...(withCdf.includes('cdf') && {
      [`${name}.cdf`]: (a: Tensor, b: Tensor, x: Tensor) => make(a, b).cdf(value(x)),
    }),
    ...(withCdf.includes('icdf') && {
      [`${name}.icdf`]: (a: Tensor, b: Tensor, x: Tensor) => make(a, b).icdf(probability(x)),
    }),
  };
}

const divergence =
  (p: Make, q: Make): Function =>
  (a, b, c, d) =>
    klDivergence(p(a, b), q(c, d));

/** The functions of distributions.py, under the same names. */
const functions: Record<string, Function> = {
  ...members('Normal', normal, (x) => x.mul(2), ['cdf', 'icdf']),
  ...members('Laplace', laplace, (x) => x.mul(2), ['cdf', 'icdf']),
  ...members('Exponential', exponential, (x) => x.exp(), ['cdf', 'icdf']),
  ...members('Uniform', uniform, (x) => x.mul(0.1), ['cdf', 'icdf']),
  ...members('Bernoulli', bernoulli, bits),
  ...members('Bernoulli of probs', bernoulliOfProbs, bits),
  'Categorical.logProb': (a, b) => categorical(a, b).logProb(classes(2, 3)),
  'Categorical.logProb of expanded logits': (a, b) =>
    categorical(a.narrow(0, 0, 1), b).logProb(classes(2, 5)),
  'Categorical.entropy': (a, b) => categorical(a, b).entropy(),
  'Categorical.probs': (a, b) => categorical(a, b).probs,
  'Categorical of probs.logProb': (a, b) => categoricalOfProbs(a, b).logProb(classes(3)),
  'Categorical of probs.entropy': (a, b) => categoricalOfProbs(a, b).entropy(),
  'Categorical of probs.logits': (a, b) => categoricalOfProbs(a, b).logits,
  'Bernoulli of probs.logits': (a, b) => new Bernoulli(probability(a).mul(probability(b))).logits,
  'Independent.logProb': (a, b, x) => independent(a, b).logProb(x),
  'Independent.entropy': (a, b) => independent(a, b).entropy(),
  'kl of Normal': divergence(normal, normal),
  'kl of Laplace': divergence(laplace, laplace),
  'kl of Exponential': divergence(exponential, exponential),
  'kl of Uniform': (a, b, c, d) => klDivergence(uniform(a, b), new Uniform(c.sub(4), d.exp().add(4))),
  'kl of Uniform and Normal': divergence(uniform, normal),
  'kl of Bernoulli': divergence(bernoulli, bernoulli),
  'kl of Bernoulli of probs': divergence(bernoulliOfProbs, bernoulliOfProbs),
  'kl of Categorical': divergence(categorical, categorical),
  'kl of Categorical of probs': divergence(categoricalOfProbs, categoricalOfProbs),
  'kl of Independent': divergence(independent, independent),
  ...members('Cauchy', cauchy, (x) => x.mul(2), ['cdf', 'icdf'], ['entropy']),
  ...members('Gumbel', gumbel, (x) => x.mul(2), ['cdf', 'icdf']),
  ...members('HalfNormal', halfNormal, (x) => x.exp(), ['cdf', 'icdf']),
  ...members('HalfCauchy', halfCauchy, (x) => x.exp(), ['cdf', 'icdf'], ['entropy']),
  ...members('LogNormal', logNormal, (x) => x.exp(), ['cdf', 'icdf'], [...usual, 'mode']),
  ...members('StudentT', student, (x) => x.mul(2)),
  ...members('Gamma', gamma, (x) => x.exp(), [], [...usual, 'mode']),
  ...members('Chi2', chi2, (x) => x.exp()),
  ...members('Beta', beta, probability),
  ...members('Dirichlet', dirichlet, (x) => x.softmax(-1)),
  'Dirichlet.mode': (a, b) => new Dirichlet(a.add(b).exp().add(1.5)).mode,
  ...members('Poisson', poisson, counts, [], ['mean', 'variance']),
  ...members('Geometric', geometric, counts),
  ...members('Geometric of probs', geometricOfProbs, counts),
  ...members('OneHotCategorical', oneHot, (x) => x.mul(0).add(floats(0, 0, 1, 0))),
  ...members('Multinomial', multinomial, (x) => x.mul(0).add(floats(1, 0, 3, 1))),
  ...members('MultivariateNormal', multivariate, (x) => x.mul(2)),
  ...members('MultivariateNormal of a covariance', ofCovariance, (x) => x.mul(2)),
  ...members('MultivariateNormal of a precision', ofPrecision, (x) => x.mul(2)),
  'MultivariateNormal.precisionMatrix': (a, b) => multivariate(a, b).precisionMatrix,
  ...members('TanhTransform', tanhNormal, (x) => x.mul(0.9), ['cdf', 'icdf'], []),
  ...members('several transforms', several, (x) => probability(x).mul(0.2).add(0.3), ['cdf', 'icdf'], []),
  ...members('ComposeTransform', composed, (x) => x.exp(), [], []),
  ...members(
    'MixtureSameFamily',
    mixture,
    (x) => firstRow(x).narrow(0, 0, 3).mul(2),
    ['cdf'],
    ['mean', 'variance'],
  ),
  'MixtureSameFamily of vectors.logProb': (a, b, x) => vectorMixture(a, b).logProb(firstRow(x)),
  'MixtureSameFamily of vectors.mean': (a, b) => vectorMixture(a, b).mean,
  'MixtureSameFamily of vectors.variance': (a, b) => vectorMixture(a, b).variance,
  'kl of Cauchy': divergence(cauchy, cauchy),
  'kl of Gumbel': divergence(gumbel, gumbel),
  'kl of HalfNormal': divergence(halfNormal, halfNormal),
  'kl of LogNormal': divergence(logNormal, logNormal),
  'kl of Gamma': divergence(gamma, gamma),
  'kl of Beta': divergence(beta, beta),
  'kl of Dirichlet': divergence(dirichlet, dirichlet),
  'kl of Poisson': divergence(poisson, poisson),
  'kl of Geometric': divergence(geometric, geometric),
  'kl of OneHotCategorical': divergence(oneHot, oneHot),
  'kl of MultivariateNormal': divergence(multivariate, ofCovariance),
  'kl of Bernoulli and Poisson': divergence(bernoulli, poisson),
  'kl of Beta and Exponential': divergence(beta, exponential),
  'kl of Beta and Gamma': divergence(beta, gamma),
  'kl of Beta and Normal': divergence(beta, normal),
  'kl of Beta and Uniform': (a, b, c, d) => klDivergence(beta(a, b), new Uniform(c.sub(2), d.exp().add(1))),
  'kl of Exponential and Gamma': divergence(exponential, gamma),
  'kl of Exponential and Gumbel': divergence(exponential, gumbel),
  'kl of Exponential and Normal': divergence(exponential, normal),
  'kl of Gamma and Exponential': divergence(gamma, exponential),
  'kl of Gamma and Gumbel': divergence(gamma, gumbel),
  'kl of Gamma and Normal': divergence(gamma, normal),
  'kl of Gumbel and Normal': divergence(gumbel, normal),
  'kl of Laplace and Normal': divergence(laplace, normal),
  'kl of Normal and Gumbel': divergence(normal, gumbel),
  'kl of Normal and Laplace': divergence(normal, laplace),
  'kl of Uniform and Beta': divergence(insideUnit, beta),
  'kl of Uniform and Exponential': divergence(aboveZero, exponential),
  'kl of Uniform and Gamma': divergence(aboveZero, gamma),
  'kl of Uniform and Gumbel': divergence(uniform, gumbel),
};

/** The function of all inputs, so that each of them has a gradient. */
const ofAll =
  (compute: Function): Function =>
  (...inputs) =>
    inputs.reduce((result, x) => result.add(x.sum().mul(0)), compute(...inputs));

checkGolden(
  golden.cases,
  Object.fromEntries(Object.entries(functions).map(([name, compute]) => [name, ofAll(compute)])),
);

test.each([
  ['Normal', new Normal(floats(1, -2), floats(0.5, 3))],
  ['Uniform', new Uniform(floats(1, -2), floats(1.5, 3))],
  ['Bernoulli', new Bernoulli(floats(0.3, 0.8))],
  ['Gumbel', new Gumbel(floats(1, -2), floats(0.5, 3))],
  ['HalfNormal', new HalfNormal(floats(0.5, 3))],
  ['LogNormal', new LogNormal(floats(1, -2), floats(0.5, 3))],
  ['Geometric', new Geometric(floats(0.3, 0.8))],
  [
    'MultivariateNormal',
    new MultivariateNormal(floats(1, -2), { scaleTril: tensor(Float32Array.of(0.5, 0, 1, 3), [2, 2]) }),
  ],
])('samples of %s equal those of torch after the same seed', async (name, distribution) => {
  manualSeed(1);
  const samples = distribution.sample([4]);
  expect(samples.shape).toEqual([4, 2]);
  const expected = golden.samples[name].map((one) => expect.closeTo(one, 6) as unknown);
  expect([...(await samples.array())]).toEqual(expected);
});
