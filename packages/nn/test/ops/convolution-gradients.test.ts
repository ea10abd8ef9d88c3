import { describe, test } from 'vitest';
import type { ConvAttributes, PoolAttributes } from '../../src/graph/attributes.ts';
import type { Value } from '../../src/graph/node.ts';
import { F, type Tensor } from '../../src/index.ts';
import { conv, convTranspose } from '../../src/ops/convolution.ts';
import { averagePool, maxPool } from '../../src/ops/pooling.ts';
import { Tensor as TensorOf } from '../../src/tensor/tensor.ts';
import { checkGradients, type Differentiable } from '../support/check-gradients.ts';
import '../support/one-thread.ts';

const window = (axes: number, options: Partial<ConvAttributes> = {}): ConvAttributes => ({
  strides: Array<number>(axes).fill(1),
  pads: Array<number>(2 * axes).fill(0),
  dilations: Array<number>(axes).fill(1),
  group: 1,
  ...options,
});

const pooled = (kernelShape: readonly number[], options: Partial<PoolAttributes> = {}): PoolAttributes => ({
  kernelShape,
  strides: kernelShape,
  pads: [...kernelShape, ...kernelShape].map(() => 0),
  ...options,
});

/** A function of tensors, with the operators that it consists of. */
const tensors =
  (compute: (...inputs: Tensor[]) => Tensor) =>
  (...inputs: Value[]): Value[] => [compute(...inputs.map((value) => new TensorOf(value))).value];

const cases: Readonly<Record<string, Differentiable>> = {
  'Conv of sequences': {
    leaves: [[2, 4, 9], [6, 2, 3], [6]],
    build: (x, w, b) => [conv(x, w, b, window(1, { strides: [2], pads: [2, 1], dilations: [2], group: 2 }))],
  },
  'Conv of volumes': {
    leaves: [[2, 4, 4, 3, 5], [4, 2, 2, 3, 2], [4]],
    build: (x, w, b) => [
      conv(
        x,
        w,
        b,
        window(3, { strides: [1, 2, 3], pads: [1, 0, 2, 0, 1, 1], dilations: [2, 1, 1], group: 2 }),
      ),
    ],
  },
  'ConvTranspose of sequences': {
    leaves: [[2, 4, 5], [4, 3, 3], [6]],
    build: (x, w, b) => [convTranspose(x, w, window(1, { strides: [3], pads: [2, 1], group: 2 }), [14], b)],
  },
  'ConvTranspose of volumes': {
    leaves: [[1, 2, 3, 2, 3], [2, 3, 2, 2, 2], [3]],
    build: (x, w, b) => [convTranspose(x, w, window(3, { strides: [2, 1, 2] }), [7, 3, 6], b)],
  },
  'MaxPool of sequences': {
    leaves: [[2, 3, 9]],
    build: (x) => [maxPool(x, pooled([3], { strides: [2], pads: [1, 1], dilations: [2] }))],
  },
  'MaxPool of volumes, windows apart': {
    leaves: [[2, 2, 4, 3, 5]],
    build: (x) => [maxPool(x, pooled([2, 3, 2]))],
  },
  'MaxPool of volumes, overlapping windows': {
    leaves: [[1, 2, 4, 3, 5]],
    build: (x) => [
      maxPool(x, pooled([2, 2, 3], { strides: [1, 1, 2], pads: [0, 1, 1, 1, 0, 1], dilations: [2, 1, 1] })),
    ],
  },
  'AveragePool of volumes': {
    leaves: [[1, 2, 4, 3, 5]],
    build: (x) => [
      averagePool(x, {
        ...pooled([2, 2, 3], { strides: [1, 2, 2], pads: [1, 0, 1, 0, 1, 1] }),
        countIncludePad: false,
      }),
    ],
  },
  'avgPool2d with a last window beyond the image': {
    leaves: [[2, 1, 5, 4]],
    build: tensors((x) => F.avgPool2d(x, 3, { stride: 2, padding: 1, ceilMode: true })),
  },
  adaptiveMaxPool2d: { leaves: [[1, 2, 5, 7]], build: tensors((x) => F.adaptiveMaxPool2d(x, [3, 4])) },
  'pad with a number': {
    leaves: [[2, 3, 4]],
    build: tensors((x) => F.pad(x, [1, -1, 0, 2], { value: 2 })),
  },
  'pad with reflections': {
    leaves: [[2, 3, 4]],
    build: tensors((x) => F.pad(x, [2, 3], { mode: 'reflect' })),
  },
  'interpolate, bicubic': {
    leaves: [[1, 2, 4, 5]],
    build: tensors((x) => F.interpolate(x, { size: [7, 3], mode: 'bicubic' })),
  },
  'interpolate, nearest': {
    leaves: [[1, 2, 4, 5]],
    build: tensors((x) => F.interpolate(x, { size: [8, 7] })),
  },
  pixelShuffle: { leaves: [[1, 8, 3, 2]], build: tensors((x) => F.pixelShuffle(x, 2)) },
};

describe('values and gradients of operators on images equal central differences of the reference', () => {
  test.each(Object.entries(cases))('%s', async (_, differentiable) => {
    await checkGradients(differentiable);
  });
});
