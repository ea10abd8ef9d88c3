import { describe, expect, test } from 'vitest';
import { ways } from '../../../../../test/support/extent.ts';
import { rewrite } from '../../../src/compiler/rewrite.ts';
import { suitsDirectProducts } from '../../../src/executor/cpu/rewrites/batch-innermost/convolution.ts';
import { batchInnermost } from '../../../src/executor/cpu/rewrites/batch-innermost/index.ts';
import { reluAfterMaxPool } from '../../../src/compiler/rewrites/relu-after-max-pool.ts';
import type { Value } from '../../../src/graph/node.ts';
import type { OpName } from '../../../src/graph/operators.ts';
import type { ConvAttributes } from '../../../src/graph/attributes.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { conv } from '../../../src/ops/convolution.ts';
import { affine, batchNormalize } from '../../../src/ops/batch-normalization.ts';
import { add, cast, mul, relu } from '../../../src/ops/elementwise.ts';
import {
  bfloat16Instructions,
  type Bfloat16Instructions,
} from '../../../src/ops/own/bfloat16-instructions.ts';
import type { DType } from '../../../src/dtype.ts';
import { reduceMean } from '../../../src/ops/reduction.ts';
import { maxPool } from '../../../src/ops/pooling.ts';
import { F, Parameter, Tensor, tensor } from '../../../src/index.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';
import { checkGradients, type Differentiable } from '../../support/check-gradients.ts';

const window = { strides: [1, 1], pads: [0, 0, 0, 0], dilations: [1, 1], group: 1 } as const;
const plainConv = (x: Value, w: Value, b?: Value) => conv(x, w, b, window);
const pool = (x: Value, [height, width]: readonly [number, number]) =>
  maxPool(x, { kernelShape: [height, width], strides: [height, width], pads: [0, 0, 0, 0] });

/** A convolution with a bias, from the shapes of image and weight. */
const convolution = (image: readonly number[], weight: readonly number[]): Differentiable => ({
  leaves: [image, weight, [weight[0]]],
  build: (x, w, b) => [plainConv(x, w, b)],
});

/** The operators that a training step computes instead of these values. */
async function operatorsAfterCheck(differentiable: Differentiable): Promise<OpName[]> {
  const values = await checkGradients(differentiable, roundingOfToomCook);
  const rewritten = rewrite(rewrite(values, [reluAfterMaxPool]), batchInnermost);
  return topologicalOrder(rewritten).map(({ op }) => op);
}

/**
 * Toom-Cook's transforms scale intermediate results up by the powers of its points, and their rounding errors with them: up to
 * 2e-6 is measured.
 */
const roundingOfToomCook = 1e-5;

describe('Toom-Cook along the width', () => {
  test.each<[string, readonly number[], readonly number[]]>([
    ['width 3, whole tiles of 6', [16, 8, 4, 14], [2, 8, 3, 3]],
    ['width 3, a part of a tile', [17, 3, 3, 10], [3, 3, 2, 3]],
    ['width 3, less than a tile', [16, 8, 4, 4], [2, 8, 3, 3]],
    ['width 5, whole tiles of 4', [16, 8, 5, 12], [2, 8, 5, 5]],
    ['width 5, a part of a tile', [17, 9, 6, 10], [2, 9, 4, 5]],
    ['width 5, one column', [16, 8, 5, 5], [2, 8, 5, 5]],
    ['width 2, height 1', [16, 8, 3, 4], [2, 8, 1, 2]],
    ['width 7, tiles of 2', [16, 8, 2, 9], [2, 8, 2, 7]],
  ])('%s', async (_, image, weight) => {
    expect(await operatorsAfterCheck(convolution(image, weight))).toContain('Gemm');
  });
});

test.each<[string, Partial<ConvAttributes>, OpName]>([
  ["of the image's size: the operator of the addon", { pads: [1, 1, 1, 1] }, 'ToomCookConvolve'],
  ['smaller: matrix products', { pads: [1, 0, 1, 0] }, 'Gemm'],
  ['of every second row: the operator', { pads: [1, 1, 1, 1], strides: [2, 1] }, 'ToomCookConvolve'],
  [
    'of every second row and column: the operator',
    { pads: [1, 1, 1, 1], strides: [2, 2] },
    'ToomCookConvolve',
  ],
  ['that leave a column unread: matrix products', { pads: [1, 1, 1, 0], strides: [2, 4] }, 'Concat'],
  [
    'of a stride and a dilation along the height: matrix products',
    { pads: [2, 1, 2, 1], strides: [2, 1], dilations: [2, 1] },
    'Gemm',
  ],
])('results %s', async (_, options, operator) => {
  const padded: Differentiable = {
    leaves: [
      [16, 8, 6, 8],
      [2, 8, 3, 3],
    ],
    build: (x, w) => [conv(x, w, undefined, { ...window, ...options })],
  };
  expect(await operatorsAfterCheck(padded)).toContain(operator);
});

describe('windows that cover only padding are exactly 0', () => {
  const images = tensor(fill([16, 3, 2, 2], 1), [16, 3, 2, 2]);
  const conv2d = (kernel: readonly number[], padding: [number, number]) => {
    const weight = new Parameter(fill(kernel, 2), kernel);
    const output = F.conv2d(images, weight, undefined, { padding });
    const loss = output.mul(tensor(fill(output.shape, 3), output.shape)).sum();
    return { weight, output, loss };
  };

  test('gradients of weights', async () => {
    const { weight, loss } = conv2d([2, 3, 1, 5], [0, 2]);
    await loss.backward();
    const ofTap = (tap: number) => weight.grad!.filter((_, place) => place % 5 === tap);
    expect([...ofTap(0), ...ofTap(4)].every((slope) => slope === 0)).toBe(true);
    expect([...ofTap(1), ...ofTap(2), ...ofTap(3)].every((slope) => slope !== 0)).toBe(true);
  });

  test('results, in a training step', async () => {
    const { output } = conv2d([2, 3, 1, 2], [0, 2]);
    const [turned] = rewrite([output.value], batchInnermost);
    const values = (await new Tensor(turned).array()) as Float32Array;
    const ofColumn = (column: number) => values.filter((_, place) => place % 5 === column);
    expect([...ofColumn(0), ...ofColumn(4)].every((value) => value === 0)).toBe(true);
    expect([...ofColumn(1), ...ofColumn(2), ...ofColumn(3)].every((value) => value !== 0)).toBe(true);
  });
});

describe('shifted columns', () => {
  test.each<[string, readonly number[], readonly number[]]>([
    ['few channels', [16, 2, 5, 9], [4, 2, 3, 5]],
    ['one channel and one row', [19, 1, 1, 6], [2, 1, 1, 3]],
    ['a kernel too wide for a tile of 2', [16, 8, 2, 9], [2, 8, 1, 8]],
  ])('%s', async (_, image, weight) => {
    const operators = await operatorsAfterCheck(convolution(image, weight));
    expect(operators).toContain('Concat');
    expect(operators).not.toContain('Gemm');
  });

  test('1×1: one column, without concatenation', async () => {
    const operators = await operatorsAfterCheck(convolution([16, 8, 3, 3], [4, 8, 1, 1]));
    expect(operators).toContain('SwapOuterAxes');
    expect(operators).not.toContain('Concat');
    expect(operators).not.toContain('Gemm');
  });
});

describe('operators after a convolution', () => {
  test('pooling, the bias and relu in one operator', async () => {
    const operators = await operatorsAfterCheck({
      leaves: [[16, 2, 6, 8], [3, 2, 3, 3], [3]],
      build: (x, w, b) => [relu(pool(plainConv(x, w, b), [2, 3]))],
    });
    expect(operators.filter((op) => ['MaxPool', 'Add', 'Relu'].includes(op))).toEqual([]);
    expect(operators).toContain('MaxPoolActivate');
  });

  test('windows that leave a remainder are pooled in NCHW', async () => {
    const operators = await operatorsAfterCheck({
      leaves: [[16, 2, 5, 7], [3, 2, 3, 3], [3]],
      build: (x, w, b) => [pool(plainConv(x, w, b), [2, 2])],
    });
    expect(operators).toContain('MaxPool');
  });

  test('two convolutions with relu and pooling between them', async () => {
    const operators = await operatorsAfterCheck({
      leaves: [[16, 1, 10, 12], [8, 1, 3, 3], [8], [3, 8, 3, 3], [3]],
      build: (x, w1, b1, w2, b2) => [relu(plainConv(pool(relu(plainConv(x, w1, b1)), [2, 2]), w2, b2))],
    });
    expect(operators).not.toContain('MaxPool');
    // The image is transposed once, the result once, and the two weights.
    const transposes = operators.filter((op) => op === 'SwapOuterAxes' || op === 'Transpose').length;
    expect(transposes).toBeLessThanOrEqual(4);
  });

  test('an image that is read before and after relu', async () => {
    await operatorsAfterCheck({
      leaves: [[16, 2, 4, 4], [2, 2, 3, 3], [2]],
      build: (x, w, b) => {
        const y = plainConv(x, w, b);
        return [y, relu(y), pool(relu(y), [2, 2])];
      },
    });
  });
});

describe('operators between convolutions adopt their layout', () => {
  const between = async (
    ...[leaves, build]: [readonly (readonly number[])[], (y: Value, ...more: Value[]) => Value]
  ) => {
    const first = [
      [16, 2, 4, 4],
      [3, 2, 3, 3],
    ];
    return operatorsAfterCheck({
      leaves: [...first, ...leaves, [2, 3, 2, 1]],
      build: (x, w1, ...more) => [plainConv(build(plainConv(x, w1), ...more.slice(0, -1)), more.at(-1)!)],
    });
  };
  const transposes = (operators: readonly OpName[]) =>
    operators.filter((op) => op === 'SwapOuterAxes' || op === 'Transpose').length;
  /** Transposes of the image, the result, and the two weights. */
  const needed = 4;

  test('batch normalization and relu', async () => {
    const operators = await between([[3], [3]], (y, w, b) => relu(batchNormalize(y, w, b, 1e-5).normalized));
    expect(transposes(operators)).toBe(needed);
  });

  test('scale and shift of channels', async () => {
    expect(transposes(await between([[3], [3]], (y, scale, shift) => affine(y, scale, shift)))).toBe(needed);
  });

  test('a sum of two convolutions', async () => {
    const operators = await between(
      [
        [16, 1, 2, 2],
        [3, 1, 1, 1],
      ],
      (y, x, w) => add(y, plainConv(x, w)),
    );
    expect(transposes(operators)).toBe(needed + 2);
  });

  test('a convolution with a stride and its 1×1 shortcut, as in a residual network', async () => {
    const strided = { ...window, strides: [2, 2] };
    const operators = await operatorsAfterCheck({
      leaves: [
        [16, 3, 4, 6],
        [4, 3, 1, 1],
        [5, 4, 3, 3],
        [5, 4, 1, 1],
      ],
      build: (x, first, w, shortcut) => {
        const y = plainConv(x, first);
        const half = relu(conv(y, w, undefined, { ...strided, pads: [1, 1, 1, 1] }));
        return [add(half, conv(y, shortcut, undefined, strided))];
      },
    });
    expect(operators.filter((op) => op === 'ToomCookConvolve')).toHaveLength(2);
    // Transposes of the image, the result and the first weight.
    expect(transposes(operators)).toBe(3);
  });

  test('operands that broadcast: per image, per channel, along the rows, a number', async () => {
    const operators = await between([[16, 1, 1, 1], [3, 1, 1], [2], []], (y, ...others) =>
      others.reduce((sum, other) => add(mul(sum, other), sum), y),
    );
    expect(operators.slice(0, operators.lastIndexOf('Mul'))).toContain('Conv');
    expect(transposes(operators)).toBeLessThanOrEqual(needed + 4);
  });

  test.each([
    ['images and columns', [0, 3]],
    ['channels', [1]],
    ['rows and columns', [2, 3]],
  ])('means over %s', async (_, axes) => {
    await operatorsAfterCheck({
      leaves: [
        [16, 2, 4, 5],
        [3, 2, 3, 3],
      ],
      build: (x, w) => [true, false].map((keep) => reduceMean(plainConv(x, w), axes, keep)),
    });
  });
});

/** Paddings as [top, left, bottom, right]. */
const windowed: readonly [string, readonly number[], readonly number[], object][] = [
  ['padding, 3×3', [16, 8, 7, 8], [2, 8, 3, 3], { pads: [1, 1, 1, 1] }],
  ['unequal padding, few channels', [17, 2, 5, 6], [3, 2, 3, 5], { pads: [2, 0, 1, 3] }],
  ['unequal padding, 3×5', [17, 9, 5, 6], [3, 9, 3, 5], { pads: [0, 3, 2, 1] }],
  ['stride 2, even size, padding', [16, 8, 8, 8], [2, 8, 3, 3], { strides: [2, 2], pads: [1, 1, 1, 1] }],
  ['stride 2, odd size', [16, 3, 7, 9], [4, 3, 3, 3], { strides: [2, 2] }],
  ['stride 2 that leaves a remainder', [16, 3, 8, 8], [4, 3, 3, 3], { strides: [2, 2] }],
  ['unequal strides', [16, 8, 9, 10], [2, 8, 3, 3], { strides: [1, 3], pads: [0, 1, 0, 1] }],
  ['stride along the height only', [16, 8, 9, 6], [9, 8, 3, 3], { strides: [2, 1] }],
  ['1×1 with stride 2', [16, 8, 6, 6], [4, 8, 1, 1], { strides: [2, 2] }],
  ['dilation', [16, 2, 8, 7], [2, 2, 2, 3], { dilations: [2, 3], pads: [1, 2, 0, 1] }],
  ['dilation along the height', [16, 8, 8, 7], [9, 8, 3, 3], { dilations: [2, 1] }],
  ['dilation and stride', [16, 8, 9, 11], [3, 8, 2, 3], { dilations: [2, 3], strides: [3, 2] }],
];

describe('windows', () => {
  // Every second one in the short form: the rules of an axis do not depend on those of the other.
  const [even, odd] = [0, 1].map((rest) => windowed.filter((_, index) => index % 2 === rest));
  test.each(ways(even, odd))('%s', async (_, image, weight, options) => {
    const operators = await operatorsAfterCheck({
      leaves: [image, weight],
      build: (x, w) => [conv(x, w, undefined, { ...window, ...options })],
    });
    expect(operators.slice(-2)).not.toEqual(['Input', 'Conv']);
  });
});

const direct = bfloat16Instructions() === undefined ? 'ToomCookConvolve' : 'DirectConvolve';
const bothAxes = bfloat16Instructions() === 'amx' ? 'DirectConvolve' : 'ToomCookConvolve2d';

test.each<[string, readonly number[], readonly number[], Partial<ConvAttributes>, OpName]>([
  ['few channels: along the width', [16, 3, 8, 8], [4, 3, 3, 3], { pads: [1, 1, 1, 1] }, 'ToomCookConvolve'],
  ['many channels: along both axes', [16, 32, 8, 8], [32, 32, 3, 3], { pads: [1, 1, 1, 1] }, bothAxes],
  ['a stride', [16, 3, 8, 8], [4, 3, 3, 3], { pads: [1, 1, 1, 1], strides: [2, 2] }, direct],
  ['smaller than its image: products in float32', [16, 8, 4, 14], [2, 8, 3, 3], {}, 'Gemm'],
])('bfloat16, %s', async (_, image, weight, own, operator) => {
  const [x, w] = [image, weight].map((shape, seed) => new Parameter(fill(shape, seed), shape));
  const y = conv(x.bfloat16().value, w.bfloat16().value, undefined, { ...window, ...own });
  const [rewritten] = rewrite([y], batchInnermost);
  const operators = topologicalOrder([rewritten]).map(({ op }) => op);
  expect(rewritten.dtype).toBe('bfloat16');
  expect(operators).toContain(operator);
  const [actual, expected] = await Promise.all(
    [rewritten, y].map((value) => new Tensor(value).float().array()),
  );
  // Both round once; the sums before may differ in their last bits, or by the rounding of products that are not direct.
  expectClose('y', actual, [...(expected as Float32Array)], 2 ** -6);
});

test.each<[string, number[], Partial<ConvAttributes>, string[]]>([
  ['1×1', [4, 3, 1, 1], {}, ['avx512-bf16', 'amx']],
  ['a stride', [4, 3, 3, 3], { strides: [1, 2] }, ['avx512-bf16', 'amx']],
  ['3×3', [16, 16, 3, 3], {}, ['amx']],
  ['few filters', [15, 16, 3, 3], {}, []],
  ['few channels', [16, 15, 3, 3], {}, []],
])('direct products in bfloat16, %s', (_, shape, own, expected) => {
  const weight = new Parameter(fill(shape, 1), shape).value;
  const images = new Parameter(fill([8, shape[1], 8, 16], 2), [8, shape[1], 8, 16]);
  const suits = (dtype: DType, instructions: Bfloat16Instructions) =>
    suitsDirectProducts(cast(images.value, dtype), weight, { ...window, ...own }, instructions);
  const all = ['avx512-bf16', 'amx'] as const;
  expect(all.filter((one) => suits('bfloat16', one))).toEqual(expected);
  expect(all.filter((one) => suits('float32', one))).toEqual([]);
});

test('a batch of data, without gradient, uses the operator for any output size and one channel', async () => {
  const images = tensor(fill([17, 1, 7, 9], 1), [17, 1, 7, 9]);
  const build = (w: Value) => [conv(images.value, w, undefined, window)];
  expect(await operatorsAfterCheck({ leaves: [[5, 1, 3, 5]], build })).toContain('ToomCookConvolve');
});

test.each<[string, readonly number[], readonly number[], object]>([
  ['fewer than 16 images', [15, 2, 5, 5], [2, 2, 3, 3], {}],
  ['more than 64 columns', [16, 2, 2, 65], [2, 2, 1, 3], {}],
  ['groups', [16, 2, 5, 5], [2, 1, 3, 3], { group: 2 }],
])('%s: stays in NCHW', async (_, image, weight, options) => {
  const operators = await operatorsAfterCheck({
    leaves: [image, weight],
    build: (x, w) => [conv(x, w, undefined, { ...window, ...options })],
  });
  expect(operators).toEqual(['Input', 'Input', 'Conv']);
});
