import { describe, expect, test } from 'vitest';
import { interpret } from '../support/reference.ts';
import { rewrite } from '../../src/compiler/rewrite.ts';
import { batchInnermost } from '../../src/executor/cpu/rewrites/batch-innermost/index.ts';
import { toNchw } from '../../src/executor/cpu/rewrites/batch-innermost/layout.ts';
import type { Value } from '../../src/graph/node.ts';
import { sizeOf } from '../../src/value-type.ts';
import type { PoolAttributes } from '../../src/graph/attributes.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { max, mul, relu } from '../../src/ops/elementwise.ts';
import { maxPool } from '../../src/ops/pooling.ts';
import { reduceSum } from '../../src/ops/reduction.ts';
import { constantTensor, input } from '../../src/ops/source.ts';
import { Parameter } from '../../src/tensor/parameter.ts';
import { Tensor } from '../../src/tensor/tensor.ts';
import { fill, fillCoarse } from '../support/fill.ts';

// The slope at a kink is a convention; ringrun follows torch.

/** The gradient of the values' sum under distinct weights, which are returned too. */
async function gradientAndWeights(parameter: Parameter, value: Value) {
  const weights = fill(value.shape, 7);
  const loss = reduceSum(mul(value, input('float32', value.shape, { data: weights })));
  await new Tensor(loss).backward();
  return { gradient: parameter.grad!, weights };
}

describe('the first of equal elements in a window, row-major, receives the whole gradient', () => {
  const shape = [3, 2, 6, 6];
  const square = (size: number, stride: number, pad = 0): PoolAttributes => ({
    kernelShape: [size, size],
    strides: [stride, stride],
    pads: [pad, pad, pad, pad],
  });
  const nchw = (data: Float32Array) => {
    const leaf = new Parameter(data, shape);
    return { leaf, image: leaf.value };
  };
  /** An image whose batch is already innermost, [W,C,H,N], seen as NCHW. */
  const turned = (data: Float32Array) => {
    const leaf = new Parameter(data, [6, 2, 6, 3]);
    return { leaf, image: toNchw(leaf.value) };
  };

  test.each([
    ['MaxUnpool', nchw, square(3, 3)],
    ['MaxUnpool', nchw, square(2, 3, 1)],
    ['ScatterElements', nchw, square(3, 2)],
    ['ScatterElements', nchw, square(3, 1, 1)],
    ['MaxPoolActivate', turned, square(2, 2)],
    ['MaxPoolActivate', turned, square(3, 3)],
  ])('%s', async (form, make, attributes) => {
    const { leaf, image } = make(fillCoarse(shape, 1));
    const pooled = maxPool(image, attributes);
    const { gradient, weights } = await gradientAndWeights(leaf, pooled);

    const forms = topologicalOrder(rewrite([pooled], batchInnermost)).map(({ op }) => op);
    expect(forms.includes('MaxPoolActivate')).toBe(form === 'MaxPoolActivate');
    const [positions] = interpret([pooled.node.outputs[1]]);
    const [placesInLeaf] = interpret([image], new Map([[leaf.value, Float64Array.from(leaf.data.keys())]]));
    const expected = new Float32Array(sizeOf(shape));
    for (const [place, position] of positions.entries()) expected[placesInLeaf[position]] += weights[place];
    // Overlapping windows are summed in a different order.
    for (const [place, slope] of expected.entries()) expect(gradient[place]).toBeCloseTo(slope, 6);
  });

  test('by hand: a window of equal numbers', async () => {
    const { leaf, image } = nchw(new Float32Array(sizeOf(shape)).fill(3));
    const { gradient, weights } = await gradientAndWeights(leaf, maxPool(image, square(6, 6)));
    const expected = new Float32Array(sizeOf(shape));
    for (const [window, weight] of weights.entries()) expected[36 * window] = weight;
    expect(gradient).toEqual(expected);
  });
});

test('Max passes the gradient to the first of two equal operands', async () => {
  const a = new Parameter(Float32Array.of(1, 2, 3), [3]);
  const b = new Parameter(Float32Array.of(2, 2, 2), [3]);
  await new Tensor(reduceSum(mul(max(a.value, b.value), constantTensor([3], [5, 6, 7])))).backward();
  expect([...a.grad!]).toEqual([0, 6, 7]);
  expect([...b.grad!]).toEqual([5, 0, 0]);
});

test('the slope of relu at 0 is 0', async () => {
  const x = new Parameter(Float32Array.of(-1, 0, -0, 2), [4]);
  await new Tensor(reduceSum(relu(x.value))).backward();
  expect([...x.grad!]).toEqual([0, 0, 0, 1]);
});

test('relu after a pool without positive elements has no gradient, as before the pool', async () => {
  const x = new Parameter(Float32Array.of(-1, -2, -3, 0), [1, 1, 2, 2]);
  const pooled = maxPool(relu(x.value), { kernelShape: [2, 2], strides: [2, 2], pads: [0, 0, 0, 0] });
  await new Tensor(reduceSum(pooled)).backward();
  expect([...x.grad!]).toEqual([0, 0, 0, 0]);
});
