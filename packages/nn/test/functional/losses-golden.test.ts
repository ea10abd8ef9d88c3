import { F, nn, Parameter, tensor, where, type Tensor } from '../../src/index.ts';
import { fill, fillCoarse } from '../support/fill.ts';
import { checkGolden, goldenCases, type GoldenFunctions } from '../support/golden-cases.ts';
import '../support/one-thread.ts';

// The losses and activations of test/golden/tensors.py, under the same names.

const signs = (shape: readonly number[], seed: number) =>
  where(tensor(fill(shape, seed), shape).gt(0), 1, -1).float();
const counts = tensor(fill([4, 5], 5), [4, 5])
  .mul(3)
  .abs();
const probability = (x: Tensor) => x.mul(3).sigmoid();
const reductions = ['mean', 'sum', 'none'] as const;

function losses(
  name: string,
  cases: Readonly<Record<string, (reduction: F.Reduction, ...inputs: Tensor[]) => Tensor>>,
): GoldenFunctions {
  return Object.fromEntries(
    Object.entries(cases).flatMap(([what, loss]) =>
      reductions.map((reduction) => [
        `${name}${what}, ${reduction}`,
        (...inputs: Tensor[]) => loss(reduction, ...inputs),
      ]),
    ),
  );
}

const bce = (weight?: Tensor) => (reduction: F.Reduction, x: Tensor, t: Tensor) =>
  new nn.BCELoss({ reduction, weight }).forward(probability(x), probability(t.detach())).add(t.sum().mul(0));

checkGolden(goldenCases('losses'), {
  ...losses('l1Loss', { '': (reduction, x, t) => new nn.L1Loss({ reduction }).forward(x, t) }),
  ...losses('smoothL1Loss', {
    '': (reduction, x, t) => new nn.SmoothL1Loss({ reduction }).forward(x, t),
    ' beta': (reduction, x, t) => new nn.SmoothL1Loss({ reduction, beta: 0.3 }).forward(x, t),
    ' no beta': (reduction, x, t) => new nn.SmoothL1Loss({ reduction, beta: 0 }).forward(x, t),
  }),
  ...losses('huberLoss', {
    '': (reduction, x, t) => new nn.HuberLoss({ reduction }).forward(x, t),
    ' delta': (reduction, x, t) => new nn.HuberLoss({ reduction, delta: 0.3 }).forward(x, t),
  }),
  ...losses('binaryCrossEntropy', { '': bce(), ' weighted': bce(tensor(fill([5], 9)).add(1.5)) }),
  ...losses('klDiv', {
    '': (reduction, x, t) => new nn.KLDivLoss({ reduction }).forward(x.logSoftmax(1), t.softmax(1)),
    ' log': (reduction, x, t) =>
      new nn.KLDivLoss({ reduction, logTarget: true }).forward(x.logSoftmax(1), t.logSoftmax(1)),
  }),
  'klDiv, batchmean': (x, t) => F.klDiv(x.logSoftmax(1), t.softmax(1), { reduction: 'batchmean' }),
  'klDiv of zeros': (x) =>
    F.klDiv(
      x.logSoftmax(1),
      tensor(fillCoarse([4, 5], 3), [4, 5])
        .gt(0)
        .float(),
    ),
  ...losses('poissonNllLoss', {
    '': (reduction, x) => new nn.PoissonNLLLoss({ reduction }).forward(x, counts),
    ' of rates, full': (reduction, x) =>
      new nn.PoissonNLLLoss({ reduction, logInput: false, full: true }).forward(x.add(1.5), counts),
  }),
  ...losses('gaussianNllLoss', {
    '': (reduction, x, t, v) => new nn.GaussianNLLLoss({ reduction }).forward(x, t, v.add(1.5)),
    ' full, small variance': (reduction, x, t, v) =>
      new nn.GaussianNLLLoss({ reduction, full: true, eps: 1.5 }).forward(x, t, v.add(1.5)),
  }),
  ...losses('cosineEmbeddingLoss', {
    '': (reduction, x, y) => new nn.CosineEmbeddingLoss({ reduction }).forward(x, y, signs([4], 3)),
    ' margin': (reduction, x, y) =>
      new nn.CosineEmbeddingLoss({ reduction, margin: -0.5 }).forward(x, y, signs([4], 3)),
  }),
  ...losses('tripletMarginLoss', {
    '': (reduction, a, p, n) => new nn.TripletMarginLoss({ reduction }).forward(a, p, n),
    ' swapped': (reduction, a, p, n) =>
      new nn.TripletMarginLoss({ reduction, margin: 2, p: 1.5, swap: true }).forward(a, p, n),
  }),
  ...losses('marginRankingLoss', {
    '': (reduction, x, y) =>
      new nn.MarginRankingLoss({ reduction, margin: 0.25 }).forward(x, y, signs([4, 5], 3)),
  }),
  ...losses('hingeEmbeddingLoss', {
    '': (reduction, x) => new nn.HingeEmbeddingLoss({ reduction, margin: 0.5 }).forward(x, signs([4, 5], 3)),
  }),
  ...losses('softMarginLoss', {
    '': (reduction, x) => new nn.SoftMarginLoss({ reduction }).forward(x.mul(9), signs([4, 5], 3)),
  }),
  cosineSimilarity: (x, y) => new nn.CosineSimilarity().forward(x, y),
  'cosineSimilarity of rows': (x, y) => F.cosineSimilarity(x, y, { dim: -1 }),
  pairwiseDistance: (x, y) => new nn.PairwiseDistance({ p: 3, keepdim: true }).forward(x, y),
});

/** A PReLU with this weight, which is the parameter of the test. */
function prelu(x: Tensor, weight: Tensor): Tensor {
  const layer = new nn.PReLU(weight.shape[0]);
  if (weight instanceof Parameter) layer.weight = weight;
  return layer.forward(x);
}

checkGolden(goldenCases('activations'), {
  elu: (x) => new nn.ELU(0.7).forward(x.mul(4)),
  selu: (x) => new nn.SELU().forward(x.mul(4)),
  celu: (x) => new nn.CELU(0.7).forward(x.mul(4)),
  hardtanh: (x) => new nn.Hardtanh(-1.5, 2).forward(x.mul(4)),
  relu6: (x) => new nn.ReLU6().forward(x.mul(9)),
  hardsigmoid: (x) => new nn.Hardsigmoid().forward(x.mul(5)),
  hardswish: (x) => new nn.Hardswish().forward(x.mul(5)),
  softplus: (x) => new nn.Softplus({ beta: 2, threshold: 10 }).forward(x.mul(9)),
  softsign: (x) => new nn.Softsign().forward(x.mul(4)),
  logsigmoid: (x) => new nn.LogSigmoid().forward(x.mul(9)),
  mish: (x) => new nn.Mish().forward(x.mul(4)),
  tanhshrink: (x) => new nn.Tanhshrink().forward(x.mul(4)),
  softshrink: (x) => new nn.Softshrink().forward(x),
  hardshrink: (x) => new nn.Hardshrink(0.25).forward(x),
  threshold: (x) => new nn.Threshold(0.1, -0.5).forward(x),
  glu: (x) => new nn.GLU(1).forward(x),
  prelu,
  'prelu of one weight': prelu,
});
