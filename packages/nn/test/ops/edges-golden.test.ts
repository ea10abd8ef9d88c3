import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { cdist, F, Parameter, tensor, where, type Tensor } from '../../src/index.ts';
import '../support/one-thread.ts';

// PyTorch's values and gradients at the ends of domains, as written by `test/golden/edges.py`.

/** All elements, as numbers and as String() for non-finite ones. */
interface Written {
  readonly shape: readonly number[];
  readonly elements: readonly (number | string)[];
}

interface Group {
  readonly inputs: readonly Written[];
  readonly cases: readonly {
    readonly name: string;
    readonly output: Written;
    /** null: PyTorch has none. */
    readonly gradients: readonly (Written['elements'] | null)[];
  }[];
}

type Functions = Readonly<Record<string, (...inputs: Tensor[]) => Tensor>>;

const fixture = new URL('../../../../test/golden/edges.json', import.meta.url);
const groups = JSON.parse(readFileSync(fixture, 'utf8')) as readonly Group[];

const none = { reduction: 'none' } as const;
const classes = tensor(BigInt64Array.from({ length: 12 }, (_, row) => BigInt(row % 3)));
const ignored = tensor(new BigInt64Array(4).fill(-100n));
const onlyWeight = tensor(Float32Array.of(0, 1, 0));
const floats = (...numbers: number[]) => tensor(Float32Array.from(numbers));
const named = <Name extends string | number>(
  prefix: string,
  names: readonly Name[],
  of: (name: Name) => (...inputs: Tensor[]) => Tensor,
): Functions => Object.fromEntries(names.map((name) => [`${prefix}${name}`, of(name)]));

const unary: Functions = {
  ...named(
    '',
    [
      ...(['exp', 'log', 'sqrt', 'abs', 'tanh', 'sigmoid', 'erf', 'neg', 'square', 'reciprocal'] as const),
      ...(['rsqrt', 'log1p', 'log2', 'log10', 'exp2', 'expm1', 'logit', 'sin', 'cos', 'tan'] as const),
      ...(['asin', 'acos', 'atan', 'sinh', 'cosh', 'asinh', 'acosh', 'atanh', 'frac', 'relu'] as const),
    ],
    (name) => (x) => x[name](),
  ),
  ...named(
    '',
    [
      ...(['gelu', 'silu', 'mish', 'softplus', 'hardsigmoid'] as const),
      ...(['softsign', 'tanhshrink', 'logsigmoid'] as const),
    ],
    (name) => (x) => F[name](x),
  ),
  leaky_relu: (x) => F.leakyRelu(x),
  'gelu by tanh': (x) => F.gelu(x, { approximate: 'tanh' }),
  'softplus of beta 2': (x) => F.softplus(x, { beta: 2, threshold: 10 }),
  nan_to_num: (x) => x.nanToNum(),
  prelu: (x) => F.prelu(x, floats(0)),
  ...named('pow ', [0, 1, 2, 3, 4, -1, -2, 0.5, 1.5, 0.3], (exponent) => (x) => x.pow(exponent)),
};

const piecewise: Functions = {
  ...named('', ['elu', 'celu', 'selu', 'relu6', 'hardtanh'] as const, (name) => (x) => F[name](x)),
  'elu of alpha 0': (x) => F.elu(x, 0),
};

const binary: Functions = {
  ...named(
    '',
    ['add', 'sub', 'mul', 'div', 'maximum', 'minimum', 'logaddexp'] as const,
    (name) => (a, b) => a[name](b),
  ),
  where: (a, b) => where(a.gt(0), a, b),
  lerp: (a, b) => a.lerp(b, 0.25),
  'mse_loss, none': (a, b) => F.mseLoss(a, b, none),
  'l1_loss, none': (a, b) => F.l1Loss(a, b, none),
  'smooth_l1_loss, none': (a, b) => F.smoothL1Loss(a, b, none),
  'huber_loss, none': (a, b) => F.huberLoss(a, b, none),
  'smooth_l1_loss of beta 0': (a, b) => F.smoothL1Loss(a, b, { beta: 0, ...none }),
  kl_div: (a, b) => F.klDiv(a, b.abs(), none),
  'kl_div of logarithms': (a, b) => F.klDiv(a, b, { logTarget: true, ...none }),
  poisson_nll_loss: (a, b) => F.poissonNllLoss(a, b, none),
  'poisson_nll_loss of rates': (a, b) => F.poissonNllLoss(a, b, { logInput: false, full: true, ...none }),
};

const some = (x: Tensor) => x.narrow(0, 3, 4);
const rowFunctions: Functions = {
  softmax: (x) => F.softmax(x, 1),
  log_softmax: (x) => F.logSoftmax(x, 1),
  softmin: (x) => F.softmin(x, 1),
  ...named('norm ', [0, 1, 2, 3, 1.5], (p) => (x) => x.norm(p, [1])),
  'var of one': (x) => x.narrow(1, 0, 1).var([1]),
  'std of one': (x) => x.narrow(1, 0, 1).std([1]),
  'std of one, of all there is': (x) => x.narrow(1, 0, 1).std([1], 0),
  prod: (x) => x.prod(1),
  cumsum: (x) => x.cumsum(1),
  ...named('', ['sum', 'mean', 'amax', 'amin', 'nansum', 'nanmean'] as const, (name) => (x) => x[name]([1])),
  ...named('normalize ', [1, 2], (p) => (x) => F.normalize(x, { p, dim: 1 })),
  'normalize inf': (x) => F.normalize(x, { p: Infinity, dim: 1 }),
  rms_norm: (x) => F.rmsNorm(x, [3], undefined, { eps: 1e-6 }),
  batch_norm: (x) => F.batchNorm(some(x).t(), undefined, undefined, undefined, undefined, { training: true }),
  local_response_norm: (x) => F.localResponseNorm(x.unsqueeze(2), 2),
  diff: (x) => x.diff(),
  crossEntropy: (x) => F.crossEntropy(x, classes, none),
  'crossEntropy, smoothed': (x) => F.crossEntropy(x, classes, { labelSmoothing: 0.1, ...none }),
  'crossEntropy of probabilities': (x) => F.crossEntropy(x, floats(1, 0, 0).expand(12, 3), none),
  'crossEntropy of weights 0': (x) => F.crossEntropy(x, classes, { weight: onlyWeight, ...none }),
  'crossEntropy of weights 0, mean': (x) =>
    F.crossEntropy(some(x), tensor(new BigInt64Array(4)), { weight: onlyWeight }),
  'crossEntropy, all ignored': (x) => F.crossEntropy(some(x), ignored),
  'crossEntropy, all ignored, sum': (x) => F.crossEntropy(some(x), ignored, { reduction: 'sum' }),
  'crossEntropy of images, all ignored': (x) => F.crossEntropy(some(x).unsqueeze(2), ignored.view(4, 1)),
  nllLoss: (x) => F.nllLoss(x, classes, none),
  'nllLoss, weighted, all ignored': (x) => F.nllLoss(some(x), ignored, { weight: onlyWeight }),
  'nllLoss, all ignored': (x) => F.nllLoss(some(x), ignored),
  multi_margin_loss: (x) => F.multiMarginLoss(x, classes, none),
  multilabel_soft_margin_loss: (x) => F.multilabelSoftMarginLoss(x, floats(1, 0, 1).expand(12, 3), none),
};

const finiteFunctions: Functions = {
  xlogy: (a, b) => a.xlogy(b),
  gaussian_nll_loss: (a, b) => {
    return F.gaussianNllLoss(a, tensor(new Float32Array(a.numel()).fill(1)), b.abs(), none);
  },
  soft_margin_loss: (a, b) => F.softMarginLoss(a, b.detach().sign(), none),
};

const modestRowFunctions: Functions = {
  logsumexp: (x) => x.logsumexp([1]),
  'norm inf': (x) => x.nanToNum(0, Infinity, -Infinity).norm(Infinity, [1]),
  'norm -inf': (x) => x.nanToNum(0, Infinity, -Infinity).norm(-Infinity, [1]),
  ...named('norm ', [0.5, -1], (p) => (x) => x.norm(p, [1])),
  glu: (x) => F.glu(x.narrow(1, 0, 2), 1),
  var: (x) => x.var([1]),
  std: (x) => x.std([1]),
  'std of all there is': (x) => x.std([1], 0),
  layer_norm: (x) => F.layerNorm(x, [3]),
  group_norm: (x) => F.groupNorm(x, 1),
};

const chanceFunctions: Functions = {
  binary_cross_entropy: (p, t) => F.binaryCrossEntropy(p, t.detach(), none),
  'binary_cross_entropy, mean': (p, t) => F.binaryCrossEntropy(p, t.detach()),
  'binary_cross_entropy, weighted': (p, t) =>
    F.binaryCrossEntropy(p, t.detach(), {
      weight: tensor(Float32Array.from({ length: 15 }, (_, i) => i % 2)),
      ...none,
    }),
};

const logitFunctions: Functions = {
  'binary_cross_entropy of sigmoid': (x, t) => F.binaryCrossEntropy(x.sigmoid(), t.detach(), none),
  binary_cross_entropy_with_logits: (x, t) => F.binaryCrossEntropyWithLogits(x, t, none),
  'binary_cross_entropy_with_logits, weighted': (x, t) =>
    F.binaryCrossEntropyWithLogits(x, t, {
      weight: tensor(new Float32Array(18)),
      posWeight: tensor(new Float32Array(18).fill(2)),
      ...none,
    }),
};

const equalFunctions: Functions = {
  ...named('pairwise_distance ', [1, 2, 0.5], (p) => (a, b) => F.pairwiseDistance(a, b, { p })),
  'pairwise_distance inf': (a, b) => F.pairwiseDistance(a, b, { p: Infinity }),
  ...named('cdist ', [0, 0.5, 1, 1.5, 2, 3], (p) => (a, b) => cdist(a, b, p)),
  dist: (a, b) => a.narrow(0, 0, 2).dist(b.narrow(0, 0, 2)),
  'dist 1': (a, b) => a.narrow(0, 0, 2).dist(b.narrow(0, 0, 2), 1),
  triplet_margin_loss: (a, b) => F.tripletMarginLoss(a, b, b, none),
  cosine_embedding_loss: (a, b) =>
    F.cosineEmbeddingLoss(a.narrow(0, 0, 3), b.narrow(0, 0, 3), floats(1, -1, 1), none),
  margin_ranking_loss: (a, b) =>
    F.marginRankingLoss(a, b, tensor(new Float32Array(15).fill(1), [5, 3]), none),
  hinge_embedding_loss: (a) => F.hingeEmbeddingLoss(a, floats(1, -1, 1).expand(5, 3), none),
};

const tables = [
  unary,
  binary,
  finiteFunctions,
  rowFunctions,
  modestRowFunctions,
  chanceFunctions,
  logitFunctions,
  equalFunctions,
  piecewise,
];

describe.each(groups.map((group, index) => [index, group, tables[index]] as const))(
  'group %i',
  (_, { inputs, cases }, functions) => {
    test.each(cases.map((golden) => [golden.name, golden] as const))(
      '%s',
      async (name, { output, gradients }) => {
        const given = inputs.map(({ shape, elements }) => {
          return new Parameter(Float32Array.from(elements, Number), [...shape]);
        });
        const result = functions[name](...given);
        expect(result.shape).toEqual(output.shape);
        expectEqual(name, 'output', await result.array(), output.elements, inputs);
        const weights = Float32Array.from({ length: result.numel() }, (_, i) => i * 0.5 + 1);
        await result.mul(tensor(weights, result.shape)).sum().backward();
        for (const [index, expected] of gradients.entries()) {
          const gradient = given[index].grad ?? new Float32Array(given[index].numel());
          if (expected) expectEqual(name, `gradient ${index}`, gradient, expected, inputs);
        }
      },
    );
  },
);

/** NaN and infinities exactly; numbers within rounding. */
function expectEqual(
  name: string,
  what: string,
  given: ArrayLike<number | bigint>,
  expected: Written['elements'],
  inputs: readonly Written[],
): void {
  const different = expected.flatMap((one, place) => {
    const [number, other] = [Number(one), Number(given[place])];
    const isClose =
      Object.is(number + 0, other + 0) ||
      (Number.isFinite(number) && Math.abs(number - other) <= 1e-5 + 2e-5 * Math.abs(number));
    if (isClose) return [];
    const at = inputs.map(({ elements }) => (elements.length === expected.length ? elements[place] : place));
    return [`${what} at ${at.join()}: expected ${one}, got ${other}`];
  });
  expect(different, name).toEqual([]);
}
