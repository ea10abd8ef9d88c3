import { describe, expect, test } from 'vitest';
import { cat, F, nn, Parameter, stack, tensor, type Tensor } from '../../src/index.ts';
import { fill, fillClasses, fillCoarse, fillNotFinite } from '../support/fill.ts';
import { checkCase, type GoldenCase, type GoldenFunctions } from '../support/golden-cases.ts';
import { golden, type Written } from '../support/golden-operators.ts';
import { expectSummary } from '../support/summary.ts';
import '../support/one-thread.ts';

/** Classes, of which every third is to be ignored. */
const ignoring = (count: number, depth: number, seed: number, ignored = -100n) =>
  fillClasses(count, depth, seed).map((label, place) => (place % 3 === 0 ? ignored : label));

const lossesBy = (reduction: F.Reduction): GoldenFunctions => ({
  [`nllLoss, weighted, ignoring, ${reduction}`]: (a) =>
    F.nllLoss(a, tensor(ignoring(6, 4, 1)), { weight: tensor(fill([4], 9)).add(1.5), reduction }),
  [`crossEntropy, everything, ${reduction}`]: (a) =>
    F.crossEntropy(a, tensor(ignoring(6, 4, 1)), {
      weight: tensor(fill([4], 9)).add(1.5),
      labelSmoothing: 0.2,
      reduction,
    }),
  [`crossEntropy of probabilities, ${reduction}`]: (a, p) =>
    F.crossEntropy(a, p.add(1.5), {
      weight: tensor(fill([4], 9)).add(1.5),
      labelSmoothing: 0.2,
      reduction,
    }),
  [`mseLoss, ${reduction}`]: (a, b) => F.mseLoss(a, b, { reduction }),
  [`binaryCrossEntropyWithLogits, everything, ${reduction}`]: (a) =>
    F.binaryCrossEntropyWithLogits(
      a.mul(9),
      tensor(fill([3, 4], 8), [3, 4])
        .div(2)
        .add(0.5),
      {
        weight: tensor(fill([4], 9)).add(1.5),
        posWeight: tensor(fill([4], 9))
          .add(1.5)
          .add(1),
        reduction,
      },
    ),
});

/** The functions of operators.py, under the same names. */
const operators: GoldenFunctions = {
  add: (a, b) => a.add(b),
  'add number': (a) => a.add(1.5),
  sub: (a, b) => a.sub(b),
  mul: (a, b) => a.mul(b),
  div: (a, b) => a.div(b.add(2.5)),
  'div of integers': (a) =>
    a.mul(tensor(fillClasses(6, 7, 1)).div(tensor(fillClasses(6, 3, 2).map((divisor) => divisor + 2n)))),
  neg: (a) => a.neg(),
  exp: (a) => a.exp(),
  log: (a) => a.add(1.25).log(),
  relu: (a) => F.relu(a),
  sum: (a) => a.sum(),
  'sum of axes': (a) => a.sum([-1, 0]),
  'sum of no axes': (a) => a.sum([]),
  'mean of no axes, kept': (a) => a.mean([], true),
  'amax of no axes': (a) => a.amax([]),
  'amin of no axes': (a) => a.amin([]),
  'sum kept': (a) => a.sum([1], true),
  mean: (a) => a.mean(),
  'mean of axes': (a) => a.mean([0, 2]),
  'mean kept': (a) => a.mean([-2], true),
  view: (a) => a.view(4, -1),
  permute: (a) => a.permute(2, 0, 1),
  'permute, counted from the last': (a) => a.permute(-1, 0, -2),
  flatten: (a) => F.flatten(a),
  linear: (x, w, b) => F.linear(x, w, b),
  'linear without bias': (x, w) => F.linear(x, w),
  logSoftmax: (a) => F.logSoftmax(a, 1),
  'logSoftmax of an inner axis': (a) => F.logSoftmax(a, -2),
  nllLoss: (a) => F.nllLoss(a, tensor(fillClasses(6, 4, 1))),
  ...lossesBy('mean'),
  ...lossesBy('sum'),
  ...lossesBy('none'),
  'nllLoss of another index to ignore': (a) => F.nllLoss(a, tensor(fillClasses(6, 4, 1)), { ignoreIndex: 2 }),
  'nllLoss of a large negative index to ignore': (a) =>
    F.nllLoss(a, tensor(ignoring(6, 4, 1, -(2n ** 40n) - 1n)), { ignoreIndex: -(2 ** 40) - 1 }),
  'crossEntropy of a large index to ignore': (a) =>
    F.crossEntropy(a, tensor(ignoring(6, 4, 1, 2n ** 24n + 1n)), { ignoreIndex: 2 ** 24 + 1 }),
  'nllLoss of images': (a) => F.nllLoss(a, tensor(ignoring(30, 4, 2), [2, 3, 5])),
  crossEntropy: (a) => F.crossEntropy(a, tensor(fillClasses(6, 4, 1))),
  'crossEntropy of images, smoothed': (a) =>
    F.crossEntropy(a, tensor(ignoring(30, 4, 2), [2, 3, 5]), { labelSmoothing: 0.1 }),
  'crossEntropy of probabilities in images': (a, p) => F.crossEntropy(a, p),
  binaryCrossEntropyWithLogits: (a, t) => F.binaryCrossEntropyWithLogits(a, t),
  sqrt: (a) => a.add(1.25).sqrt(),
  'pow 2': (a) => a.pow(2),
  'pow 3': (a) => a.pow(3),
  'pow -1': (a) => a.add(1.25).pow(-1),
  'pow 1.7': (a) => a.add(1.25).pow(1.7),
  'pow 0': (a) => a.pow(0).add(a),
  abs: (a) => a.abs(),
  erf: (a) => a.mul(2).erf(),
  maximum: (a, b) => a.maximum(b),
  minimum: (a, b) => a.minimum(b),
  amax: (a) => a.amax([0, 2]),
  amin: (a) => a.amin([1], true),
  sigmoid: (a) => F.sigmoid(a.mul(5)),
  tanh: (a) => F.tanh(a.mul(3)),
  leakyRelu: (a) => F.leakyRelu(a),
  'leakyRelu of another slope': (a) => F.leakyRelu(a, 0.3),
  gelu: (a) => F.gelu(a.mul(3)),
  'gelu by tanh': (a) => F.gelu(a.mul(3), { approximate: 'tanh' }),
  silu: (a) => F.silu(a.mul(3)),
  softmax: (a) => F.softmax(a, 1),
  'softmax of an inner axis': (a) => F.softmax(a, -2),
  matmul: (a, b) => a.matmul(b),
  'matmul of vectors': (a, b) => a.matmul(b),
  'matmul, vector first': (a, b) => a.matmul(b),
  'matmul, vector second': (a, b) => a.matmul(b),
  'matmul, one matrix for all': (a, b) => a.matmul(b),
  'matmul that broadcasts': (a, b) => a.matmul(b),
  transpose: (a) => a.transpose(0, -1),
  'flatten of some': (a) => a.flatten(1, -2),
  'flatten of all': (a) => a.flatten(),
  unsqueeze: (a) => a.unsqueeze(-1),
  cat: (...all) => cat(all, -1),
  stack: (...all) => stack(all, 1),
  'linear of many rows': (x, w, b) => F.linear(x, w, b),
  'linear of a vector': (x, w, b) => F.linear(x, w, b),
  layerNorm: (x, w, b) => F.layerNorm(x, [5], w, b),
  'layerNorm of two dimensions': (x) => F.layerNorm(x, [2, 5], undefined, undefined, { eps: 0.1 }),
  embedding: (w) =>
    F.embedding(
      tensor(
        fillClasses(6, 5, 1).map((row) => row / 2n),
        [2, 3],
      ),
      w,
    ),
  'embedding with padding': (w) =>
    F.embedding(tensor(fillClasses(6, 5, 1).map((row) => row / 2n)), w, { paddingIdx: -4 }),
  'conv2d same': (x, w, b) => F.conv2d(x, w, b, { padding: 'same', dilation: [1, 3] }),
  conv2d: (x, w, b) => F.conv2d(x, w, b),
  'conv2d without bias': (x, w) => F.conv2d(x, w),
  'conv2d 1x1': (x, w, b) => F.conv2d(x, w, b),
  'conv2d 3x1': (x, w, b) => F.conv2d(x, w, b),
  'conv2d stride and padding': (x, w, b) => F.conv2d(x, w, b, { stride: [2, 3], padding: [1, 2] }),
  'conv2d dilation': (x, w, b) => F.conv2d(x, w, b, { dilation: [2, 3] }),
  'conv2d groups': (x, w, b) => F.conv2d(x, w, b, { padding: 1, groups: 2 }),
  'conv2d of each channel': (x, w, b) => F.conv2d(x, w, b, { stride: 2, padding: 1, groups: 4 }),
  'conv2d 16 images': (x, w, b) => F.conv2d(x, w, b),
  'conv2d 16 images, 8 channels, width 3': (x, w, b) => F.conv2d(x, w, b),
  'conv2d 16 images, 8 channels, width 5': (x, w, b) => F.conv2d(x, w, b),
  'conv2d 16 images, padding': (x, w, b) => F.conv2d(x, w, b, { padding: [1, 2] }),
  'conv2d 16 images, stride and padding': (x, w, b) => F.conv2d(x, w, b, { stride: [2, 3], padding: [1, 2] }),
  'conv2d 16 images, stride and dilation': (x, w, b) =>
    F.conv2d(x, w, b, { stride: [3, 2], dilation: [2, 3] }),
  'a residual block of 16 images': (x, first, scale1, shift1, second, scale2, shift2, shortcut) => {
    const normalized = (y: Tensor, scale: Tensor, shift: Tensor) =>
      F.batchNorm(y, undefined, undefined, scale, shift, { training: true });
    const begun = F.conv2d(x, first, undefined, { stride: 2, padding: 1 });
    const hidden = F.conv2d(F.relu(normalized(begun, scale1, shift1)), second, undefined, { padding: 1 });
    const past = F.conv2d(x, shortcut, undefined, { stride: 2 });
    return F.relu(normalized(hidden, scale2, shift2).add(past)).mean([2, 3]);
  },
  'conv2d, relu, maxPool2d of 17 images': (x, w, b) => F.maxPool2d(F.relu(F.conv2d(x, w, b)), 2),
  maxPool2d: (x) => F.maxPool2d(x, 2),
  'maxPool2d with a rest': (x) => F.maxPool2d(x, [2, 3]),
  'maxPool2d overlapping': (x) => F.maxPool2d(x, 3, { stride: 2 }),
  'maxPool2d padded': (x) => F.maxPool2d(x, 2, { padding: 1 }),
  'maxPool2d overlapping and padded': (x) => F.maxPool2d(x, [3, 2], { stride: 1, padding: [1, 0] }),
  'maxPool2d windows apart': (x) => F.maxPool2d(x, 2, { stride: 3 }),
  avgPool2d: (x) => F.avgPool2d(x, 2),
  'avgPool2d with a rest': (x) => F.avgPool2d(x, [2, 3]),
  'avgPool2d overlapping and padded': (x) => F.avgPool2d(x, [3, 2], { stride: [2, 1], padding: 1 }),
  'avgPool2d without counting padding': (x) =>
    F.avgPool2d(x, 3, { stride: 2, padding: 1, countIncludePad: false }),
  'adaptiveAvgPool2d to one': (x) => F.adaptiveAvgPool2d(x, 1),
  'adaptiveAvgPool2d to a divisor': (x) => F.adaptiveAvgPool2d(x, [3, 2]),
  'adaptiveAvgPool2d to any size': (x) => F.adaptiveAvgPool2d(x, [3, 4]),
  'adaptiveAvgPool2d to a larger size': (x) => F.adaptiveAvgPool2d(x, [3, 7]),
};

describe('outputs and gradients', () => {
  const named = (cases: readonly GoldenCase[]) => cases.map((golden) => [golden.name, golden] as const);
  test.each(named(golden.operators))('%s', (_, operator) => checkCase(operator, operators));
  test.each(named(golden.tied))('%s, with ties', (_, operator) => checkCase(operator, operators, fillCoarse));

  test('the fixture has every function', () => {
    expect(golden.operators.map(({ name }) => name)).toEqual(Object.keys(operators));
  });
});

/** A convolution that changes nothing, after which images of 16 and more lie with the batch innermost. */
const convolved = (x: Tensor) => F.conv2d(x, tensor(Float32Array.of(1), [1, 1, 1, 1]));

const comparing: GoldenFunctions = {
  ...operators,
  'amax of all': (a) => a.amax(),
  'relu, maxPool2d': (x) => F.maxPool2d(F.relu(x), 2),
  'relu, maxPool2d of 16 convolved images': (x) => F.maxPool2d(F.relu(convolved(x)), 2),
  'maxPool2d 3x3 of 16 convolved images': (x) => F.maxPool2d(convolved(x), 3),
};

describe('NaN and infinities propagate as in torch', () => {
  const named = golden.notFinite.map((golden) => [golden.name, golden] as const);
  test.each(named)('%s', async (name, { inputs, output, gradients }) => {
    const parameters = inputs.map((shape, seed) => new Parameter(fillNotFinite(shape, seed), shape));
    const result = comparing[name](...parameters);
    expectWritten('output', (await result.array()) as Float32Array, output);
    const weights = tensor(fill(result.shape, 50), result.shape);
    await result.mul(weights).sum().backward();
    for (const [position, { grad }] of parameters.entries()) {
      expectWritten(`gradient of input ${position}`, grad!, gradients[position]);
    }
  });
});

describe('confident outputs and their gradients keep their relative precision', () => {
  const { numbers, cases } = golden.tails;
  const zeros = tensor(new Float32Array(numbers.length));
  const ones = tensor(new Float32Array(numbers.length).fill(1));
  const functions: GoldenFunctions = {
    sigmoid: (a) => F.sigmoid(a),
    silu: (a) => F.silu(a),
    'gelu by tanh': (a) => F.gelu(a, { approximate: 'tanh' }),
    'binaryCrossEntropyWithLogits of 0': (a) =>
      F.binaryCrossEntropyWithLogits(a, zeros, { reduction: 'none' }),
    'binaryCrossEntropyWithLogits of 1': (a) =>
      F.binaryCrossEntropyWithLogits(a, ones, { reduction: 'none' }),
  };
  test.each(cases.map((golden) => [golden.name, golden] as const))('%s', async (name, golden) => {
    const x = new Parameter(Float32Array.from(numbers), [numbers.length]);
    const output = (await functions[name](x).array()) as Float32Array;
    await functions[name](x).sum().backward();
    for (const [place, number] of numbers.entries()) {
      expectRelative(`${name}(${number})`, output[place], Number(golden.output[place]));
      // Near 1, y·(1 − y) loses its precision in torch's float32 too.
      const lost = name.startsWith('binary') || number < 0 ? 0 : 2e-7 * number;
      expectRelative(`gradient of ${name}(${number})`, x.grad![place], Number(golden.gradient[place]), lost);
    }
  });
});

/** Exponents beyond 64 bits of precision cost a few units in the last place; numbers below the smallest normal one may be 0. */
function expectRelative(what: string, actual: number, expected: number, lost = 0): void {
  const allowed = Math.max(5e-6 * Math.abs(expected), 1.2e-38, lost);
  expect(Math.abs(actual - expected), `${what}: ${actual}, expected ${expected}`).toBeLessThanOrEqual(
    allowed,
  );
}

function expectWritten(what: string, actual: Float32Array, expected: Written): void {
  const rounded = (number: number | string) =>
    Number.isFinite(number) ? Number(number).toFixed(5) : `${number}`;
  expect([...actual].map(rounded), what).toEqual(expected.map((number) => rounded(number)));
}

describe('batch normalization', () => {
  const modules: Readonly<Record<string, () => nn.BatchNorm1d | nn.BatchNorm2d>> = {
    images: () => new nn.BatchNorm2d(3),
    rows: () => new nn.BatchNorm1d(3, { momentum: 0.3, eps: 0.01 }),
    'sequences, mean of all batches': () => new nn.BatchNorm1d(3, { momentum: null }),
    'nothing learned': () => new nn.BatchNorm2d(3, { affine: false }),
    'nothing tracked': () => new nn.BatchNorm2d(3, { trackRunningStats: false }),
  };

  async function run(module: nn.BatchNorm1d | nn.BatchNorm2d, shape: readonly number[], seed: number) {
    const x = new Parameter(fill(shape, seed), shape);
    module.zeroGrad();
    const output = module.forward(x);
    await output
      .mul(tensor(fill(shape, 50), shape))
      .sum()
      .backward();
    return [(await output.array()) as Float32Array, x.grad!];
  }

  test.each(Object.entries(golden.batchNorms))('%s', async (name, { shape, steps, evaluation }) => {
    const module = modules[name]();
    for (const [seed, { data }] of [...module.parameters()].entries()) data.set(fill([3], 30 + seed));
    for (const [step, expected] of steps.entries()) {
      const actual = await run(module, shape, step);
      for (const { grad } of module.parameters()) actual.push(grad!);
      for (const [, { data }] of module.namedBuffers()) actual.push(data);
      expect(actual.length).toBe(expected.length);
      for (const [place, summary] of expected.entries()) {
        expectSummary(`step ${step}, array ${place}`, actual[place], summary);
      }
    }
    const [output, gradient] = await run(module.eval(), shape, 9);
    expectSummary('evaluation: output', output, evaluation[0]);
    expectSummary('evaluation: gradient', gradient, evaluation[1]);
  });
});
