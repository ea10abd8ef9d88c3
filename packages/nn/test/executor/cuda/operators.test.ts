import { expect, test } from 'vitest';
import { fakeDevice } from '../../../../../native/test/gpu/fake-device.ts';
import { plainOperators } from '../../../src/compiler/rewrites/plain-operators.ts';
import { executorOn } from '../../../src/executor/cuda/cuda.ts';
import { onnxruntimeExecutor } from '../../../src/executor/cpu/onnxruntime.ts';
import type { Value } from '../../../src/graph/node.ts';
import { conv, convTranspose } from '../../../src/ops/convolution.ts';
import { convWeightGradient } from '../../../src/ops/convolution-weight-gradient.ts';
import { batchNormalizeSums } from '../../../src/ops/batch-normalize-sums.ts';
import { affine } from '../../../src/ops/batch-normalization.ts';
import { add, cast, div, exp, greater, mul, relu, where, widened } from '../../../src/ops/elementwise.ts';
import { gemm, matmul } from '../../../src/ops/linear-algebra.ts';
import { maxPool } from '../../../src/ops/pooling.ts';
import { reduceMax, reduceMean, reduceSum } from '../../../src/ops/reduction.ts';
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
import { constant, constantTensor, input } from '../../../src/ops/source.ts';
import { computedBy, numbers } from '../../support/cuda.ts';
import '../../support/one-thread.ts';

const gpu = executorOn(fakeDevice());

const x = (shape: readonly number[], seed = 1) => input('float32', shape, { data: numbers(shape, seed) });

const a = x([3, 4, 5]);
const image = x([2, 4, 7, 6]);

const cases: Record<string, () => readonly Value[]> = {
  'a chain of elementwise nodes': () => {
    const y = add(mul(a, x([4, 1], 2)), x([5], 3));
    return [relu(div(exp(y), add(y, constant(3)))), where(greater(y, a), y, constant(2)), y];
  },
  // A thread computes several elements.
  'large arrays': () => {
    const [whole, ragged] = [x([512, 1024], 5), x([3, 174763], 6)];
    const y = add(mul(whole, x([512, 1], 2)), x([1024], 3));
    return [transpose(relu(y), [1, 0]), exp(reverse(ragged, 1))];
  },
  'a pooled convolution with a bias': () => {
    const bias = x([3], 9);
    const window = { kernelShape: [2, 2], strides: [2, 2], pads: [0, 0, 0, 0] };
    const plain = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };
    const pooled = maxPool(conv(image, x([3, 4, 3, 3], 7), bias, plain), window);
    const shared = conv(image, x([3, 4, 3, 3], 8), bias, plain);
    return [relu(pooled), maxPool(shared, window), shared];
  },
  'views of outputs and leaves': () => [reshape(a, [60]), reshape(exp(a), [15, 4]), a, exp(a)],
  copies: () => [
    transpose(a, [2, 0, 1]),
    slice(a, 1, 1, 3),
    reverse(a, 2),
    pad(a, [1, 0, 2], [0, 1, 0], 3),
    concat([a, x([3, 2, 5], 2)], 1),
    ...split(a, 1, 2),
    trilu(a, 1, true),
    expand(x([4, 1]), [3, 4, 5]),
    expand(constantTensor([2], [1, 2]), [3, 2]),
  ],
  reductions: () => [
    reduceSum(a),
    reduceSum(a, [0, 2]),
    reduceMean(a, [1], true),
    reduceMax(a, [2]),
    reduceSum(x([2, 1000], 4), [1]),
    reduceMax(x([1000, 2], 4), [0]),
    reduceSum(x([3, 20000], 4), [0]),
    reduceSum(x([700, 5], 4), [0]),
    reduceMean(x([2, 300, 40], 4), [0, 1], true),
    reduceMax(x([100, 33], 4), [0]),
  ],
  products: () => [
    gemm(x([3, 4]), x([5, 4], 2), x([5], 3), { transB: true }),
    gemm(x([4, 3]), x([4, 5], 2), undefined, { transA: true }),
    matmul(a, x([5, 2])),
    matmul(a, x([3, 5, 2])),
    matmul(a, transpose(x([3, 2, 5]), [0, 2, 1])),
    matmul(x([2, 1, 4, 5]), x([3, 5, 2])),
    matmul(x([2, 3, 4, 5]), x([3, 5, 2])),
    matmul(transpose(x([3, 5, 4]), [0, 2, 1]), x([5, 2])),
  ],
  convolutions: () => {
    const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 };
    return [
      conv(image, x([3, 4, 3, 2]), x([3]), window),
      conv(image, x([6, 2, 3, 3]), undefined, {
        strides: [2, 1],
        pads: [1, 0, 2, 1],
        dilations: [1, 2],
        group: 2,
      }),
      conv(x([2, 3, 9]), x([4, 3, 3]), x([4]), { strides: [2], pads: [1, 1], dilations: [1], group: 1 }),
      convTranspose(image, x([4, 3, 3, 3]), { ...window, strides: [2, 2] }, [15, 14], x([3])),
      convTranspose(image, x([4, 3, 3, 3]), { ...window, pads: [1, 0, 0, 2] }, [8, 6]),
      convWeightGradient(image, x([2, 3, 5, 5]), [3, 4, 3, 2], window),
      convWeightGradient(image, x([2, 6, 4, 5]), [6, 2, 3, 3], {
        strides: [2, 1],
        pads: [1, 0, 2, 1],
        dilations: [1, 1],
        group: 2,
      }),
      affine(image, x([4]), x([4], 2)),
    ];
  },
};

test.each(Object.keys(cases))('%s have the results of the CPU', async (name) => {
  const outputs = cases[name]();
  const [found, expected] = [await computedBy(gpu, outputs), await computedBy(onnxruntimeExecutor, outputs)];
  for (const [output, elements] of expected.entries()) {
    expect(found[output].length).toBe(elements.length);
    const isFar = (element: number, index: number) =>
      !(Math.abs(found[output][index] - element) <= 1e-5 * Math.max(1, Math.abs(element)));
    const far = elements.findIndex(isFar);
    expect(found[output][far], `output ${output}, element ${far}`).toBe(elements[far]);
  }
});

test.each([
  [[50, 5], 'float32', 'float32'],
  [[2500, 6], 'bfloat16', 'float32'],
  [[1700, 40], 'float32', 'bfloat16'],
  [[90, 132], 'bfloat16', 'bfloat16'],
] as const)(
  'sums for the gradient of batch norm of %j, of %s and %s',
  async (shape, ofGradients, ofValues) => {
    const [d, values, mean] = [cast(x(shape), ofGradients), cast(x(shape, 5), ofValues), x([shape[1]], 6)];
    const sums = batchNormalizeSums(widened(d), widened(values), mean);
    const found = await computedBy(gpu, sums.outputs);
    const expected = await computedBy(onnxruntimeExecutor, plainOperators(sums)!);
    for (const [output, elements] of expected.entries()) {
      for (const [index, element] of elements.entries()) {
        expect(Math.abs(found[output][index] - element), `output ${output}, element ${index}`).toBeLessThan(
          1e-3,
        );
      }
    }
  },
);
