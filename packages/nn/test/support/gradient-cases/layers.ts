import type { Value } from '../../../src/graph/node.ts';
import * as elementwise from '../../../src/ops/elementwise.ts';
import { affine, batchNormalize } from '../../../src/ops/batch-normalization.ts';
import { ctcLosses } from '../../../src/ops/own/ctc-loss.ts';
import { dropout } from '../../../src/ops/own/dropout.ts';
import { embeddingBag } from '../../../src/ops/own/embedding-bag.ts';
import { batchNormalizeActivate } from '../../../src/ops/own/batch-normalize-activate.ts';
import { gelu } from '../../../src/ops/own/gelu.ts';
import { maxPoolActivate } from '../../../src/ops/own/max-pool-activate.ts';
import { layerNormalize } from '../../../src/ops/own/layer-normalize.ts';
import { recurrence } from '../../../src/ops/own/recurrence.ts';
import { checkProbabilities } from '../../../src/ops/own/check-probabilities.ts';
import { safeSoftmax } from '../../../src/ops/own/safe-softmax.ts';
import { softmaxCrossEntropy } from '../../../src/ops/own/softmax-cross-entropy.ts';
import { normalize } from '../../../src/ops/normalization.ts';
import { reshape } from '../../../src/ops/shape.ts';
import { logSoftmax, negativeLogLikelihood, softmax } from '../../../src/ops/softmax.ts';
import { constantTensor, int64Constant, number } from '../../../src/ops/source.ts';
import { fill } from '../fill.ts';

import { integers, of, unary, type Cases } from './build.ts';

const fusedBatchNorm = (x: Value, weight: Value, bias: Value, residual?: Value, activates = false) =>
  batchNormalizeActivate([x, weight, bias], 1e-5, residual, activates).outputs[0];

const pooled = (x: Value, bias: Value | undefined, kernelShape: readonly number[], activates = false) =>
  maxPoolActivate(x, bias, { kernelShape, activates });

export const layerCases = {
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
} satisfies Cases;
