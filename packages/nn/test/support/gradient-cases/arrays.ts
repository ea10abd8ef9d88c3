import type { Value } from '../../../src/graph/node.ts';
import { cumulativeSum } from '../../../src/ops/cumulative.ts';
import { gatherElements, indexSelect, scatter, scatterElements } from '../../../src/ops/indexing.ts';
import { gather } from '../../../src/ops/table-rows.ts';
import { gemm, matmul } from '../../../src/ops/linear-algebra.ts';
import { swapOuterAxes } from '../../../src/ops/swap-outer-axes.ts';
import { reduceMax, reduceMean, reduceSum } from '../../../src/ops/reduction.ts';
import { topK } from '../../../src/ops/ordering.ts';
import {
  concat,
  expand,
  pad,
  reshape,
  reverse,
  slice,
  split,
  transpose,
  trilu,
} from '../../../src/ops/shape.ts';
import type { Differentiable } from '../check-gradients.ts';

import { integers, of, type Cases } from './build.ts';

export const arrayCases = {
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
} satisfies Cases;

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
