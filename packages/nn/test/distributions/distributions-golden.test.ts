import { expect, test } from 'vitest';
import { distributions, manualSeed, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import { checkGolden, goldenFile, type GoldenCase } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// PyTorch's numbers, as written by `test/golden/distributions.py`.

const { Bernoulli, Categorical, Exponential, Independent, klDivergence, Laplace, Normal, Uniform } =
  distributions;
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

/** The members of a distribution of two parameters; `value` takes the third input to the support. */
function members(name: string, make: Make, value: (x: Tensor) => Tensor, withCdf: string[] = []) {
  return {
    [`${name}.logProb`]: (a, b, x) => make(a, b).logProb(value(x)),
    [`${name}.entropy`]: (a, b) => make(a, b).entropy(),
    [`${name}.mean`]: (a, b) => make(a, b).mean,
    [`${name}.variance`]: (a, b) => make(a, b).variance,
    [`${name}.stddev`]: (a, b) => make(a, b).stddev,
    ...(withCdf.includes('cdf') && { [`${name}.cdf`]: (a, b, x) => make(a, b).cdf(value(x)) }),
    ...(withCdf.includes('icdf') && { [`${name}.icdf`]: (a, b, x) => make(a, b).icdf(probability(x)) }),
  } satisfies Record<string, Function>;
}

const divergence =
  (p: Make, q: Make): Function =>
  (a, b, c, d) =>
    klDivergence(p(a, b), q(c, d));

/** The functions of distributions.py, under the same names. */
const functions: Record<string, Function> = {
  ...members('Normal', normal, (x) => x.mul(2), ['cdf']),
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
])('samples of %s equal those of torch after the same seed', async (name, distribution) => {
  manualSeed(1);
  const samples = distribution.sample([4]);
  expect(samples.shape).toEqual([4, 2]);
  const expected = golden.samples[name].map((one) => expect.closeTo(one, 6) as unknown);
  expect([...(await samples.array())]).toEqual(expected);
});
