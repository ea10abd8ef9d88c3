import { describe, expect, test } from 'vitest';
import { exactMaxPool } from '../src/compiler/rewrites/exact-max-pool.ts';
import { createValue, type Value } from '../src/graph/node.ts';
import type { CollectiveOp, OpName } from '../src/graph/operators.ts';
import { topologicalOrder } from '../src/graph/topology.ts';
import { conv, convTranspose } from '../src/ops/convolution.ts';
import { noGradient } from '../src/ops/definition.ts';
import { floorDivide, fmod, remainder } from '../src/ops/division.ts';
import { cumulativeSum } from '../src/ops/cumulative.ts';
import { addDependency, checkpointBoundary } from '../src/ops/dependency.ts';
import * as elementwise from '../src/ops/elementwise.ts';
import {
  abs,
  ceil,
  erf,
  floor,
  leakyRelu,
  pow,
  tensorPower,
  round,
  sigmoid,
  sign,
  softplus,
  tanh,
} from '../src/ops/functions.ts';
import { operators } from '../src/ops/index.ts';
import * as trigonometry from '../src/ops/trigonometry.ts';
import { gatherElements, indexSelect, oneHot, scatter, scatterElements } from '../src/ops/indexing.ts';
import { gather } from '../src/ops/table-rows.ts';
import { gemm, matmul } from '../src/ops/linear-algebra.ts';
import { affine, batchNormalize } from '../src/ops/batch-normalization.ts';
import { ctcLosses } from '../src/ops/own/ctc-loss.ts';
import { dropout } from '../src/ops/own/dropout.ts';
import { embeddingBag } from '../src/ops/own/embedding-bag.ts';
import { batchNormalizeActivate } from '../src/ops/own/batch-normalize-activate.ts';
import { gelu } from '../src/ops/own/gelu.ts';
import { maxPoolActivate } from '../src/ops/own/max-pool-activate.ts';
import { layerNormalize } from '../src/ops/own/layer-normalize.ts';
import { recurrence } from '../src/ops/own/recurrence.ts';
import { checkProbabilities } from '../src/ops/own/check-probabilities.ts';
import { safeSoftmax } from '../src/ops/own/safe-softmax.ts';
import { softmaxCrossEntropy } from '../src/ops/own/softmax-cross-entropy.ts';
import { toomCookConvolve } from '../src/ops/own/toom-cook-convolve.ts';
import { swapOuterAxes } from '../src/ops/swap-outer-axes.ts';
import { normalize } from '../src/ops/normalization.ts';
import { adaptiveAveragePool } from '../src/ops/adaptive-pooling.ts';
import { averagePool, maxPool } from '../src/ops/pooling.ts';
import { reduceMax, reduceMean, reduceSum } from '../src/ops/reduction.ts';
import { argMax, argMin, topK } from '../src/ops/ordering.ts';
import { concat, expand, pad, reshape, reverse, slice, split, transpose, trilu } from '../src/ops/shape.ts';
import { logSoftmax, negativeLogLikelihood, softmax } from '../src/ops/softmax.ts';
import { checkIndices } from '../src/ops/own/check-indices.ts';
import { constant, constantTensor, input, int64Constant, number } from '../src/ops/source.ts';
import { withSlopes } from '../src/ops/with-slope.ts';
import { checkGradients, checkValues, type Differentiable } from './check-gradients.ts';
import { fill } from './fill.ts';

/** Operators of integers, and piecewise constant ones. */
const withoutGradient = [
  'Input',
  'Number',
  'Constant',
  'Identity',
  'AddDependency',
  'Greater',
  'GreaterOrEqual',
  'Equal',
  'IsNaN',
  'Or',
  'And',
  'Not',
  'Floor',
  'Ceil',
  'Round',
  'ArgMax',
  'ArgMin',
  'ExactMaxPool',
  'Sign',
  'IntegerDiv',
  'Cast',
  'OneHot',
  'CheckIndices',
  'AllGather',
] as const;
/** These need ranks: test/sync-batch-norm.test.ts. */
const collective = ['AllReduce', 'CombineStatistics'] as const satisfies readonly CollectiveOp[];
/** Only in compiled programs: test/own-operators.test.ts. */
const own = [
  'Elementwise',
  'AddRows',
  'ClipNorm',
  'NormParts',
  'ClipNormOfParts',
  'MaxPoolGradient',
  'MaxPoolActivateGradient',
  'SoftmaxCrossEntropyGradient',
  'GeluGradient',
  'LayerNormalizeGradient',
  'BatchNormalizeActivateGradient',
  'RecurrenceGradient',
  'ToomCookWeightGradient',
  'EmbeddingBagGradient',
] as const satisfies readonly OpName[];
type WithGradient = Exclude<OpName, (typeof withoutGradient | typeof collective | typeof own)[number]>;

const of = (build: Differentiable['build'], ...leaves: Differentiable['leaves']): Differentiable => ({
  leaves,
  build,
});
const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 } as const;
const integers = (...values: number[]) =>
  input('int64', [values.length], { data: BigInt64Array.from(values, BigInt) });

const fusedBatchNorm = (x: Value, weight: Value, bias: Value, residual?: Value, activates = false) =>
  batchNormalizeActivate([x, weight, bias], 1e-5, residual, activates).outputs[0];

const pooled = (x: Value, bias: Value | undefined, kernelShape: readonly number[], activates = false) =>
  maxPoolActivate(x, bias, { kernelShape, activates });

const column = elementwise.greater(constantTensor([3, 1], [1, -1, 1]), constant(0));

/** The same function of two operands under every way to broadcast. */
const broadcasting = (compute: (a: Value, b: Value) => Value): Record<string, Differentiable> => ({
  'equal shapes': of((a, b) => [compute(a, b)], [3, 5], [3, 5]),
  'row and column': of((a, b) => [compute(a, b)], [3, 1], [5]),
  'leading and inner dimensions': of((a, b) => [compute(a, b)], [4], [2, 1, 3, 1]),
  'scalar first': of((a, b) => [compute(a, b)], [], [2, 3]),
  'scalar second': of((a, b) => [compute(a, b)], [2, 3], []),
  'an operand with itself': of((a) => [compute(a, elementwise.mul(a, a))], [7]),
});

const unary = (compute: (a: Value) => Value): Record<string, Differentiable> => ({
  'a matrix': of((a) => [compute(a)], [3, 5]),
  'a scalar': of((a) => [compute(a)], []),
});

const cases: Record<WithGradient, Record<string, Differentiable>> = {
  Add: broadcasting(elementwise.add),
  Sub: broadcasting(elementwise.sub),
  Mul: broadcasting(elementwise.mul),
  AddSlope: broadcasting((a, b) => withSlopes(elementwise.mul(a, b), [a, b], [b, a])),
  Div: broadcasting((a, b) => elementwise.div(a, elementwise.add(b, constant(2.5)))),
  Max: broadcasting(elementwise.max),
  Min: broadcasting(elementwise.min),
  Neg: unary(elementwise.neg),
  Checkpoint: unary((a) => checkpointBoundary(elementwise.neg(checkpointBoundary(a, 'input')), 'output')),
  Exp: unary(elementwise.exp),
  Log: unary((a) => elementwise.log(elementwise.add(a, constant(1.5)))),
  Sqrt: unary((a) => elementwise.sqrt(elementwise.add(a, constant(1.5)))),
  Relu: unary((a) => elementwise.relu(elementwise.add(a, constant(0.5)))),
  Pow: {
    'a broken power': of((a) => [pow(elementwise.add(a, constant(1.5)), 1.7)], [3, 5]),
    'a negative power': of((a) => [pow(elementwise.add(a, constant(1.5)), -2)], [3, 5]),
    'a whole power of negative numbers': of((a) => [pow(a, 4)], [3, 5]),
    'a product beside it': of((a) => [pow(a, 3), pow(a, 4)], [7]),
    'the constant 1': of((a) => [elementwise.add(a, pow(a, 0))], [3]),
  },
  Power: broadcasting((a, b) => tensorPower(elementwise.add(a, constant(1.5)), b)),
  Abs: unary(abs),
  Sin: unary((a) => trigonometry.sin(elementwise.mul(a, constant(3)))),
  Cos: unary((a) => trigonometry.cos(elementwise.mul(a, constant(3)))),
  Tan: unary(trigonometry.tan),
  Asin: unary((a) => trigonometry.asin(elementwise.mul(a, constant(0.9)))),
  Acos: unary((a) => trigonometry.acos(elementwise.mul(a, constant(0.9)))),
  Atan: unary((a) => trigonometry.atan(elementwise.mul(a, constant(3)))),
  Sinh: unary((a) => trigonometry.sinh(elementwise.mul(a, constant(2)))),
  Cosh: unary((a) => trigonometry.cosh(elementwise.mul(a, constant(2)))),
  Asinh: unary((a) => trigonometry.asinh(elementwise.mul(a, constant(3)))),
  Acosh: unary((a) => trigonometry.acosh(elementwise.add(a, constant(2.5)))),
  Atanh: unary((a) => trigonometry.atanh(elementwise.mul(a, constant(0.9)))),
  Mod: {
    ...broadcasting((a, b) => remainder(elementwise.mul(a, constant(4)), elementwise.add(b, constant(1.7)))),
    'negative divisors': of(
      (a, b) => [fmod(elementwise.mul(a, constant(4)), elementwise.sub(b, constant(1.7)))],
      [3, 5],
      [5],
    ),
  },
  Erf: unary((a) => erf(elementwise.mul(a, constant(2)))),
  Tanh: unary((a) => tanh(elementwise.mul(a, constant(2)))),
  Sigmoid: unary((a) => sigmoid(elementwise.mul(a, constant(3)))),
  Softplus: unary((a) => softplus(elementwise.mul(a, constant(5)))),
  LeakyRelu: unary((a) => leakyRelu(a, 0.125)),
  Where: {
    'equal shapes': of((a, b) => [elementwise.where(elementwise.greater(a, b), a, b)], [3, 4], [3, 4]),
    broadcast: of((a, b) => [elementwise.where(column, a, b)], [4], [2, 1, 1]),
  },

  Reshape: {
    'to a matrix': of((a) => [reshape(a, [6, 4])], [2, 3, 4]),
    'with an open dimension': of((a) => [reshape(a, [4, -1])], [2, 3, 4]),
    'to a scalar': of((a) => [reshape(a, [])], [1, 1]),
  },
  Transpose: {
    'three axes in turn': of((a) => [transpose(a, [2, 0, 1])], [2, 3, 4]),
    'four axes': of((a) => [transpose(a, [3, 1, 2, 0])], [2, 3, 1, 4]),
  },
  SwapOuterAxes: {
    'a longer first axis': of((a) => [swapOuterAxes(a)], [5, 2, 3, 4]),
    'a longer last axis': of((a) => [swapOuterAxes(a)], [2, 3, 1, 4]),
  },
  Concat: {
    'unequal parts': of((a, b, c) => [concat([a, b, c], 1)], [2, 3], [2, 1], [2, 4]),
    'a negative axis, one part twice': of((a, b) => [concat([a, b, a], -2)], [2, 3], [2, 3]),
  },
  Split: {
    'every part': of((a) => split(a, 1, 3), [2, 6, 3]),
    'one part unread': of((a) => split(a, -2, 3).slice(1), [6, 2]),
  },
  Slice: {
    inside: of((a) => [slice(a, 1, 2, 5)], [3, 7, 2]),
    'a negative axis, to the end': of((a) => [slice(a, -1, 4, 7)], [3, 7]),
  },
  Flip: { 'an inner axis': of((a) => [reverse(a, 1)], [2, 3, 2]) },
  Pad: { 'unequal sides': of((a) => [pad(a, [0, 1, 2], [1, 0, 3])], [2, 3, 2]) },
  Expand: {
    'inner and leading dimensions': of((a) => [expand(a, [2, 3, 4])], [3, 1]),
    'a scalar': of((a) => [expand(a, [2, 3])], []),
  },
  Trilu: {
    'upper, above the diagonal': of((a) => [trilu(a, 1, true)], [2, 3, 5]),
    'lower, below the diagonal': of((a) => [trilu(a, -1, false)], [4, 3]),
  },

  CumSum: {
    'along an inner axis': of((a) => [cumulativeSum(a, 1)], [2, 5, 3]),
    'from the end': of((a) => [cumulativeSum(a, 0, true)], [5, 3]),
  },
  TopK: {
    'the largest, in order': of((a) => [topK(a, 3, 1, true).values], [2, 7, 3]),
    'all, from the smallest': of((a) => [topK(a, 5, 0, false).values], [5, 2]),
  },
  ReduceSum: reductionCases(reduceSum),
  ReduceMean: reductionCases(reduceMean),
  ReduceMax: reductionCases(reduceMax),

  Normalize: {
    'the last axis': of((x) => [normalize(x, [-1], 1e-5).normalized], [3, 7]),
    'all but channels': of((x) => [normalize(x, [0, 2, 3], 1e-5).normalized], [3, 2, 5, 3]),
    'with an epsilon that counts': of((x) => [normalize(x, [0], 0.25).normalized], [5, 3]),
    'mean and variance': of(
      (x) => {
        const { normalized, mean, variance } = normalize(x, [0, 2], 1e-3);
        return [normalized, mean, variance];
      },
      [3, 2, 5],
    ),
  },
  Gelu: unary(gelu),
  LayerNormalize: {
    'the last axis': of((x, w, b) => [layerNormalize(x, 1, 1e-5, w, b)], [2, 3, 19], [19], [19]),
    'two axes, no bias': of((x, w) => [layerNormalize(x, 2, 1e-3, w, undefined)], [3, 4, 7], [4, 7]),
    'no weight': of((x, b) => [layerNormalize(x, 1, 0.25, undefined, b)], [5, 16], [16]),
    'neither of them': of((x) => [layerNormalize(x, 1, 1e-5, undefined, undefined)], [3, 5]),
    'a weight twice': of((x, w) => [layerNormalize(x, 1, 1e-5, w, w)], [3, 5], [5]),
    'weight and bias alone': of(
      (w, b) => {
        const x = constantTensor([4, 3], [...fill([4, 3], 7)]);
        return [layerNormalize(x, 1, 1e-5, w, b)];
      },
      [3],
      [3],
    ),
  },

  CtcLoss: {
    'a repeated class and a short input': {
      leaves: [[5, 2, 4]],
      build: (x) => [
        ctcLosses(
          {
            logProbs: logSoftmax(x, 2),
            targets: int64Constant([2, 3], [1, 1, 2, 3, 0, 0]),
            inputLengths: int64Constant([2], [5, 4]),
            targetLengths: int64Constant([2], [3, 1]),
          },
          { blank: 0, zeroInfinity: false },
        ),
      ],
    },
  },
  EmbeddingBag: {
    'sums with weights and an empty bag': of(
      (table, weights) => [
        embeddingBag({
          table,
          rows: integers(3, 0, 3, 2, 1),
          offsets: integers(0, 2, 2),
          weights,
          mode: 'sum',
        }),
      ],
      [4, 3],
      [5],
    ),
    'means without a padding row': of(
      (table) => [
        embeddingBag({
          table,
          rows: integers(3, 0, 3, 2, 0),
          offsets: integers(0, 1),
          mode: 'mean',
          paddingRow: 0,
        }),
      ],
      [4, 3],
    ),
    'maxima of bags of one size': of(
      (table) => [embeddingBag({ table, rows: reshape(integers(3, 0, 1, 2, 2, 1), [2, 3]), mode: 'max' })],
      [4, 3],
    ),
  },

  Recurrence: {
    'tanh with the bias': of(
      (gates, weight, state, bias) => {
        const { states, last } = recurrence('tanh', false, { gates, weight, state, bias });
        return [states, last];
      },
      [3, 2, 5],
      [5, 5],
      [2, 5],
      [5],
    ),
    'relu, the last state alone': of(
      (gates, weight, state) => [recurrence('relu', true, { gates, weight, state }).last],
      [3, 2, 4],
      [4, 4],
      [2, 4],
    ),
    'lstm with lengths': of(
      (gates, weight, state, cellState) => {
        const lengths = integers(3, 1, 2);
        const results = recurrence('lstm', false, { gates, weight, state, cellState, lengths });
        return [results.states, results.last, results.lastCell!];
      },
      [3, 3, 12],
      [12, 3],
      [3, 3],
      [3, 3],
    ),
    'lstm backwards, the last cell alone': of(
      (gates, weight, state, cellState) => [
        recurrence('lstm', true, { gates, weight, state, cellState }).lastCell!,
      ],
      [2, 3, 8],
      [8, 2],
      [3, 2],
      [3, 2],
    ),
    'gru backwards with lengths': of(
      (gates, weight, state, bias) => {
        const lengths = integers(1, 3, 2);
        const results = recurrence('gru', true, { gates, weight, state, bias, lengths });
        return [results.states, results.last];
      },
      [3, 3, 9],
      [9, 3],
      [3, 3],
      [9],
    ),
  },

  MaxPoolActivate: {
    'windows of 2 × 2': of((x) => [pooled(x, undefined, [2, 2])], [4, 3, 6, 17]),
    'a bias and relu': of((x, b) => [pooled(x, b, [2, 2], true)], [6, 2, 4, 5], [2]),
    'a bias alone, other windows': of((x, b) => [pooled(x, b, [3, 1])], [2, 3, 6, 33], [3]),
    'relu alone, one window': of((x) => [pooled(x, undefined, [2, 5], true)], [5, 2, 2, 3]),
  },
  BatchNormalizeActivate: {
    images: of((x, w, b) => [fusedBatchNorm(x, w, b)], [3, 2, 5, 3], [2], [2]),
    'a residual and relu': of(
      (x, w, b, r) => [fusedBatchNorm(x, w, b, r, true)],
      [2, 3, 17],
      [3],
      [3],
      [2, 3, 17],
    ),
    'two readers, mean and variance': of(
      (x, w, b, r) => {
        const [y, mean, variance] = batchNormalizeActivate([x, w, b], 0.25, r, true).outputs;
        return [elementwise.mul(y, y), y, elementwise.neg(y), mean, variance];
      },
      [3, 2, 4, 6],
      [2],
      [2],
      [3, 2, 4, 6],
    ),
    'mean and variance alone': of(
      (x) => {
        const ones = constantTensor([2], [1, 1]);
        return batchNormalizeActivate([x, ones, ones], 1e-5, undefined, false).outputs.slice(1, 3);
      },
      [5, 2, 16],
    ),
  },
  BatchNormalize: {
    'a batch of rows': of((x, w, b) => [batchNormalize(x, w, b, 1e-5).normalized], [7, 3], [3], [3]),
    images: of((x, w, b) => [batchNormalize(x, w, b, 1e-5).normalized], [3, 2, 5, 3], [2], [2]),
    'an epsilon that counts': of(
      (x, w, b) => [batchNormalize(x, w, b, 0.25).normalized],
      [4, 3, 2],
      [3],
      [3],
    ),
    'mean and variance too': of(
      (x, w, b) => {
        const { normalized, mean, variance } = batchNormalize(x, w, b, 1e-3);
        return [normalized, mean, variance];
      },
      [3, 2, 5],
      [2],
      [2],
    ),
    'mean and variance alone': of(
      (x) => {
        const { mean, variance } = batchNormalize(
          x,
          constantTensor([2], [1, 1]),
          constantTensor([2], [0, 0]),
          1e-3,
        );
        return [mean, variance];
      },
      [3, 2, 5],
    ),
  },
  Affine: {
    'a batch of rows': of((x, scale, shift) => [affine(x, scale, shift)], [4, 3], [3], [3]),
    images: of((x, scale, shift) => [affine(x, scale, shift)], [2, 3, 4, 5], [3], [3]),
  },

  Gemm: Object.fromEntries(
    [false, true].flatMap((transA) =>
      [false, true].flatMap((transB) => {
        const a = transA ? [4, 3] : [3, 4];
        const b = transB ? [5, 4] : [4, 5];
        const name = `${transA ? 'Aᵀ' : 'A'}·${transB ? 'Bᵀ' : 'B'}`;
        return [
          [name, of((x, y) => [gemm(x, y, undefined, { transA, transB })], a, b)],
          [`${name} + c`, of((x, y, c) => [gemm(x, y, c, { transA, transB })], a, b, [5])],
        ];
      }),
    ),
  ),
  MatMul: {
    'two products': of((a, b) => [matmul(a, b)], [2, 3, 4], [2, 4, 5]),
    'one product': of((a, b) => [matmul(a, b)], [3, 4], [4, 5]),
    'one matrix, many': of((a, b) => [matmul(a, b)], [3, 4], [2, 4, 5]),
    'many, one matrix': of((a, b) => [matmul(a, b)], [2, 3, 3, 4], [4, 5]),
    'leading dimensions that broadcast': of((a, b) => [matmul(a, b)], [3, 1, 2, 4], [1, 2, 4, 5]),
  },

  Conv: {
    plain: of((x, w, b) => [conv(x, w, b, window)], [2, 3, 5, 6], [4, 3, 3, 2], [4]),
    'no bias': of((x, w) => [conv(x, w, undefined, window)], [1, 2, 4, 4], [3, 2, 3, 3]),
    '1×1': of((x, w, b) => [conv(x, w, b, window)], [2, 3, 3, 5], [4, 3, 1, 1], [4]),
    'stride, padding and dilation, all odd': of(
      (x, w, b) => [conv(x, w, b, { strides: [2, 3], pads: [1, 2, 1, 2], dilations: [2, 3], group: 1 })],
      [2, 2, 8, 11],
      [3, 2, 3, 2],
      [3],
    ),
    'padding of unequal sides': of(
      (x, w) => [conv(x, w, undefined, { ...window, pads: [0, 1, 2, 3] })],
      [1, 2, 5, 5],
      [3, 2, 3, 3],
    ),
    'a stride that leaves rows unread': of(
      (x, w) => [conv(x, w, undefined, { ...window, strides: [3, 3] })],
      [2, 2, 8, 8],
      [3, 2, 3, 3],
    ),
    groups: of(
      (x, w, b) => [conv(x, w, b, { strides: [1, 2], pads: [1, 0, 1, 0], dilations: [1, 2], group: 2 })],
      [2, 6, 6, 5],
      [4, 3, 3, 2],
      [4],
    ),
    'a filter per channel': of(
      (x, w, b) => [conv(x, w, b, { ...window, pads: [1, 1, 1, 1], group: 3 })],
      [2, 3, 5, 5],
      [3, 1, 3, 3],
      [3],
    ),
  },
  ToomCookConvolve: {
    plain: of((x, w) => [toomCookConvolve(x, w, window)], [7, 3, 5, 6], [4, 3, 3, 3]),
    'one column of results': of((x, w) => [toomCookConvolve(x, w, window)], [3, 2, 4, 17], [3, 2, 4, 3]),
    'padding and dilation, all odd': of(
      (x, w) => [
        toomCookConvolve(x, w, { strides: [1, 1], pads: [3, 1, 1, 2], dilations: [2, 1], group: 1 }),
      ],
      [6, 5, 7, 5],
      [9, 5, 3, 5],
    ),
    'stride 2, odd sizes': of(
      (x, w) => [toomCookConvolve(x, w, { ...window, strides: [2, 2], pads: [1, 1, 1, 1] })],
      [7, 3, 5, 6],
      [4, 3, 3, 3],
    ),
    'strides of 2 and 3, 1×1': of(
      (x, w) => [toomCookConvolve(x, w, { ...window, strides: [2, 3] })],
      [7, 3, 5, 6],
      [4, 3, 1, 1],
    ),
    'more filters than a panel': of((x, w) => [toomCookConvolve(x, w, window)], [5, 2, 3, 33], [19, 2, 1, 2]),
    'a kernel of width 7': of((x, w) => [toomCookConvolve(x, w, window)], [9, 2, 3, 4], [3, 2, 2, 7]),
  },
  ConvTranspose: {
    plain: of((x, w) => [convTranspose(x, w, window, [5, 5])], [2, 4, 3, 4], [4, 3, 3, 2]),
    'stride, padding, dilation and rows that no window reached': of(
      (x, w) => [
        convTranspose(x, w, { strides: [2, 3], pads: [1, 2, 1, 2], dilations: [2, 3], group: 1 }, [8, 8]),
      ],
      [2, 3, 3, 3],
      [3, 2, 3, 2],
    ),
    groups: of(
      (x, w) => [convTranspose(x, w, { ...window, strides: [2, 2], group: 2 }, [8, 6])],
      [2, 4, 3, 3],
      [4, 3, 3, 2],
    ),
  },
  MaxPool: {
    'windows that tile': of((x) => [pool(x, [2, 2], [2, 2])], [2, 3, 6, 4]),
    'a rest at the end': of((x) => [pool(x, [2, 2], [2, 2])], [2, 3, 7, 5]),
    'windows apart': of((x) => [pool(x, [2, 1], [3, 2])], [1, 2, 8, 9]),
    'padding, disjoint': of((x) => [pool(x, [3, 2], [3, 2], [1, 1, 1, 1])], [2, 2, 5, 6]),
    overlapping: of((x) => [pool(x, [3, 3], [2, 2])], [2, 3, 7, 5]),
    'overlapping along one axis, padded': of((x) => [pool(x, [3, 2], [1, 2], [1, 0, 1, 0])], [2, 2, 5, 6]),
  },
  AveragePool: {
    'windows that tile': of((x) => [averages(x, [2, 2], [2, 2])], [2, 3, 6, 4]),
    'windows that overlap, with a rest': of((x) => [averages(x, [3, 2], [2, 1])], [2, 3, 8, 5]),
    'windows apart': of((x) => [averages(x, [2, 1], [3, 2])], [1, 2, 8, 9]),
    'padding that counts': of((x) => [averages(x, [3, 2], [2, 2], [1, 1, 1, 1])], [2, 2, 7, 5]),
    'padding that does not count': of(
      (x) => [averages(x, [3, 2], [2, 1], [1, 1, 1, 1], false)],
      [2, 2, 7, 5],
    ),
    'adaptive, to parts of a size': of((x) => [adaptiveAveragePool(x, [3, 1])], [2, 3, 6, 5]),
  },
  MaxUnpool: {
    'scattered places': of((x) => [unpool(x, [5, 0, 2, 10, 13, 12, 18, 23], [1, 2, 3, 4])], [1, 2, 2, 2]),
  },
  IndexSelect: {
    'rows, one of them twice': of((x) => [indexSelect(x, 0, [4, 1, 1, 0])], [5, 3]),
    'along an inner axis': of((x) => [indexSelect(x, 1, [2, 0, 1, 2])], [2, 3, 4]),
  },
  Gather: {
    'rows, one of them twice': of((x) => [gather(x, integers(4, 1, 1, 0))], [5, 3]),
    'rows in a matrix': of((x) => [gather(x, reshape(integers(2, 0, 1, 1, 4, 2), [2, 3]))], [5, 3]),
  },
  GatherElements: {
    'an element twice': of((x) => [gatherElements(x, integers(4, 1, 1, 0))], [5]),
    'one of each row': of((x) => [gatherElements(x, reshape(integers(4, 1, 1), [3, 1]), 1)], [3, 5]),
    'along an inner axis': of(
      (x) => [gatherElements(x, reshape(integers(2, 1, 1, 0, 2, 2), [2, 1, 3]), 1)],
      [2, 3, 3],
    ),
  },
  Scatter: {
    'one of each row': of((x, y) => [scatter(x, reshape(integers(4, 1, 1), [3, 1]), y, 1)], [3, 5], [3, 1]),
    'along the first axis, into a part': of(
      (x, y) => [scatter(x, reshape(integers(3, 1, 0, 2), [2, 2]), y, 0)],
      [4, 3],
      [2, 2],
    ),
  },
  ScatterElements: {
    'a place twice': of((x) => [scatterElements(integers(4, 1, 1, 0), x, 6)], [4]),
    'one of each row': of((x) => [scatterElements(reshape(integers(4, 1, 1), [3, 1]), x, 5, 1)], [3, 1]),
    'rows, one of them twice': of(
      (x) => [scatterElements(expand(reshape(integers(3, 1, 3), [3, 1]), [3, 2]), x, 4)],
      [3, 2],
    ),
  },

  Dropout: {
    'half of a matrix': of((x) => [dropout(x, integers(5, 2 ** 31), number(2))], [3, 7]),
    'more than a block': of((x) => [dropout(x, integers(6, 2 ** 32 - 2 ** 29), number(1.2))], [11, 47]),
  },

  Softmax: {
    'the last axis': of((x) => [softmax(x, -1)], [3, 5]),
    'an inner axis': of((x) => [softmax(x, 1)], [2, 3, 4]),
  },
  CheckProbabilities: {
    'of squares': of((x) => [checkProbabilities('f', 'probabilities', elementwise.mul(x, x))], [2, 3]),
  },
  SafeSoftmax: {
    'three rows': of((x) => [safeSoftmax(x)], [3, 5]),
    'a row of −∞, and one with −∞': of(
      (x) => [
        safeSoftmax(elementwise.add(x, constantTensor([3, 2], [0, 0, -Infinity, -Infinity, 0, -Infinity]))),
      ],
      [3, 2],
    ),
  },
  LogSoftmax: {
    'the last axis': of((x) => [logSoftmax(x, -1)], [3, 5]),
    'an inner axis': of((x) => [logSoftmax(x, 1)], [2, 3, 4]),
  },
  NegativeLogLikelihoodLoss: {
    'four rows': of((x) => [negativeLogLikelihood(x, integers(2, 0, 1, 2), -100)], [4, 3]),
    'three of four rows': of((x) => [negativeLogLikelihood(x, integers(2, -1, 1, 2), -1)], [4, 3]),
    'a class that is ignored': of((x) => [negativeLogLikelihood(x, integers(2, 0, 1, 2), 2)], [4, 3]),
    'one row': of((x) => [negativeLogLikelihood(x, integers(1), -100)], [1, 3]),
  },
  SoftmaxCrossEntropy: Object.fromEntries(
    (['mean', 'sum', 'none'] as const).flatMap((reduction) => {
      const weight = constantTensor(
        [19],
        Array.from({ length: 19 }, (_, label) => 0.5 + label / 8),
      );
      const kinds = { plain: {}, weighted: { weight }, smoothed: { smoothing: number(0.2) } };
      return Object.entries({ ...kinds, 'weighted and smoothed': { weight, smoothing: number(0.2) } }).map(
        ([kind, options]) => {
          const loss = (x: Value) =>
            softmaxCrossEntropy(x, integers(2, 18, -1, 0, 7), { ...options, reduction, ignoreIndex: -1 });
          return [`${reduction}, ${kind}`, of((x) => [loss(x)], [5, 19])];
        },
      );
    }),
  ),
};

function reductionCases(
  reduce: (value: Value, axes?: readonly number[], keepdims?: boolean) => Value,
): Record<string, Differentiable> {
  return {
    everything: of((a) => [reduce(a)], [3, 4]),
    'some axes': of((a) => [reduce(a, [0, 2])], [2, 3, 4]),
    'negative axes, kept': of((a) => [reduce(a, [-1, -3], true)], [2, 3, 4]),
    'no axis': of((a) => [reduce(a, [])], [2, 3]),
  };
}

function pool(
  x: Value,
  kernelShape: readonly [number, number],
  strides: readonly [number, number],
  pads: readonly [number, number, number, number] = [0, 0, 0, 0],
): Value {
  return maxPool(x, { kernelShape, strides, pads });
}

function averages(
  x: Value,
  kernelShape: readonly [number, number],
  strides: readonly [number, number],
  pads: readonly [number, number, number, number] = [0, 0, 0, 0],
  countIncludePad = true,
): Value {
  return averagePool(x, { kernelShape, strides, pads, countIncludePad });
}

function unpool(x: Value, positions: readonly number[], shape: readonly number[]): Value {
  const places = reshape(integers(...positions), x.shape);
  return createValue('MaxUnpool', [x, places], { shape }, { dtype: 'float32', shape });
}

/** From numbers of about that size; where their sum is not finite, the maxima are found another way. */
function exactlyPooled(size: number): Value {
  const image = elementwise.mul(
    input('float32', [2, 1, 3, 4], { data: fill([2, 1, 3, 4], 1) }),
    constant(size),
  );
  const attributes = { kernelShape: [2, 3], strides: [1, 2], pads: [1, 1, 0, 1] } as const;
  const { outputs } = exactMaxPool(maxPool(elementwise.max(image, constant(size / 2)), attributes).node)![0]
    .node;
  return elementwise.add(
    elementwise.div(outputs[0], constant(size)),
    elementwise.cast(outputs[1], 'float32'),
  );
}

describe('values and gradients against central differences in double precision', () => {
  for (const [op, byName] of Object.entries(cases)) {
    test.each(Object.entries(byName))(`${op}: %s`, async (_, differentiable) => {
      const values = await checkGradients(differentiable);
      expect(topologicalOrder(values).map((node) => node.op)).toContain(op);
    });
  }
});

describe('values of operators without a gradient', () => {
  const x = input('float32', [2, 3], { data: fill([2, 3], 1) });
  const y = input('float32', [3], { data: fill([3], 2) });
  const equalElements = elementwise.mul(constantTensor([3], [1, 1, -1]), constantTensor([3], [1, -1, 1]));

  test.each<[(typeof withoutGradient)[number], Value]>([
    ['Input', x],
    ['Number', elementwise.mul(x, number(0.1))],
    ['Constant', constantTensor([2, 2], [0.1, -2, 3e-20, 4e20])],
    ['Identity', elementwise.detach(x)],
    ['AddDependency', addDependency(y, x)],
    ['AddDependency', addDependency(y, constantTensor([1], [Infinity]))],
    ['AddDependency', addDependency(y, elementwise.log(constantTensor([1], [-1])))],
    ['Greater', elementwise.greater(x, y)],
    ['Greater', elementwise.greater(equalElements, constant(-1))],
    ['GreaterOrEqual', elementwise.greaterOrEqual(x, y)],
    ['GreaterOrEqual', elementwise.greaterOrEqual(equalElements, constant(-1))],
    ['Equal', elementwise.equal(equalElements, constant(-1))],
    ['Equal', elementwise.equal(integers(3, 1, 2), integers(3, 2, 2))],
    ['IsNaN', elementwise.isNaN(elementwise.log(elementwise.sub(x, y)))],
    ['Or', elementwise.or(elementwise.greater(x, y), elementwise.equal(equalElements, constant(-1)))],
    ...[1, 3e38].map((size): ['ExactMaxPool', Value] => ['ExactMaxPool', exactlyPooled(size)]),
    ['And', elementwise.and(elementwise.greater(x, y), elementwise.greater(constant(0), x))],
    ['Not', elementwise.not(elementwise.greater(x, y))],
    ['Floor', floor(elementwise.mul(x, constant(5)))],
    ['Ceil', ceil(elementwise.mul(x, constant(5)))],
    ['Round', round(elementwise.mul(x, constant(5)))],
    ['Round', round(constantTensor([6], [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]))],
    ['ArgMax', argMax(x, 1)],
    ['ArgMax', argMax(equalElements, 0)],
    ['ArgMin', argMin(x, 0)],
    ['ArgMin', argMin(equalElements, 0)],
    ['IntegerDiv', floorDivide(integers(7, -7, 6), integers(3, 3, -4))],
    ['Sign', sign(elementwise.sub(x, y))],
    ['Sign', sign(constantTensor([3], [0, -0, 2]))],
    ['Cast', elementwise.cast(elementwise.greater(x, y), 'float32')],
    ['Cast', elementwise.cast(elementwise.mul(x, constant(10)), 'int64')],
    ['OneHot', oneHot(integers(2, 0, 3), 4, -0.25)],
    [
      'CheckIndices',
      checkIndices('at', 'positions', elementwise.cast(elementwise.mul(x, constant(3)), 'int64'), {
        least: -3,
        count: 4,
      }),
    ],
  ])('%s', async (op, value) => {
    expect(topologicalOrder([value]).map((node) => node.op)).toContain(op);
    await checkValues([value]);
  });
});

test('every operator of the table is tested, as what it is', () => {
  const tabled = Object.entries(operators).filter(([, definition]) => definition.gradient !== noGradient);
  expect([...Object.keys(cases), ...collective].sort()).toEqual(tabled.map(([op]) => op).sort());
  expect(Object.keys(operators).sort()).toEqual(
    [...Object.keys(cases), ...withoutGradient, ...collective, ...own].sort(),
  );
});
