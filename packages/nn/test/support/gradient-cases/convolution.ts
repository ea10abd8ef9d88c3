import { createValue, type Value } from '../../../src/graph/node.ts';
import { conv, convTranspose } from '../../../src/ops/convolution.ts';
import { toomCookConvolve } from '../../../src/ops/own/toom-cook-convolve.ts';
import { toomCookConvolve2d } from '../../../src/ops/own/toom-cook-convolve-2d.ts';
import { adaptiveAveragePool } from '../../../src/ops/adaptive-pooling.ts';
import { averagePool, maxPool } from '../../../src/ops/pooling.ts';
import { reshape } from '../../../src/ops/shape.ts';

import { integers, of, type Cases } from './build.ts';

const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 } as const;

export const convolutionCases = {
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
  ToomCookConvolve2d: {
    plain: of((x, w) => [toomCookConvolve2d(x, w, window)], [7, 3, 5, 6], [4, 3, 3, 3]),
    'unequal padding and taps': of(
      (x, w) => [toomCookConvolve2d(x, w, { ...window, pads: [1, 0, 2, 1] })],
      [6, 5, 7, 5],
      [9, 5, 3, 2],
    ),
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
} satisfies Cases;

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
