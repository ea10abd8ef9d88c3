import { describe, expect, test } from 'vitest';
import { fuseElementwise } from '../../../src/executor/cpu/fuse-elementwise.ts';
import { fuseLayerNormalization } from '../../../src/executor/cpu/fuse-layer-normalization.ts';
import { differentiate } from '../../../src/compiler/differentiate.ts';
import type { Value } from '../../../src/graph/node.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { abs } from '../../../src/ops/functions.ts';
import {
  add,
  cast,
  div,
  greater,
  isNaN,
  max,
  min,
  mul,
  neg,
  or,
  relu,
  sqrt,
  sub,
  where,
} from '../../../src/ops/elementwise.ts';
import { gelu } from '../../../src/ops/own/gelu.ts';
import { layerNormalize } from '../../../src/ops/own/layer-normalize.ts';
import { matmul } from '../../../src/ops/linear-algebra.ts';
import { reduceSum } from '../../../src/ops/reduction.ts';
import { reshape } from '../../../src/ops/shape.ts';
import { softmax } from '../../../src/ops/softmax.ts';
import { constant, input } from '../../../src/ops/source.ts';
import { Parameter } from '../../../src/index.ts';
import { bitsOf, computed } from '../../support/computed-graph.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

const special = [NaN, 0, -0, Infinity, -Infinity, 1e-42, -1e-40, 3.39e38, 1, -1];
const leaf = (shape: readonly number[], seed: number) => {
  const data = fill(shape, seed);
  for (let i = seed; i < data.length; i += 5) data[i] = special[(i + seed * 7) % special.length];
  return input('float32', shape, { data });
};
const parameter = (shape: readonly number[], seed: number) =>
  new Parameter(fill(shape, seed), shape).trainedValue;
const narrow = (value: Value) => cast(value, 'bfloat16');

const passes = (values: readonly Value[]) =>
  topologicalOrder(values)
    .map(({ op }) => op)
    .filter((op) => !['Input', 'Constant', 'Reshape', 'MatMul', 'Transpose', 'Gemm'].includes(op))
    .sort();

/** The operators of the fused graph, whose results are those of separate operators with rounding between them. */
async function fused(values: readonly Value[]): Promise<readonly string[]> {
  const result = fuseElementwise(fuseLayerNormalization(values));
  expect(bitsOf(await computed(values, result))).toEqual(bitsOf(await computed(values, values)));
  return passes(result);
}

describe.each([1, 7, 16, 17, 1023])(
  'elementwise operators of bfloat16 are one program: %i elements',
  (size) => {
    const shape = [size];
    const [a, b] = [1, 2].map((seed) => narrow(leaf(shape, seed)));

    test.each(Object.entries({ add, sub, mul, div, max, min }))('%s', async (_, op) => {
      expect(await fused([op(op(a, b), narrow(leaf(shape, 3)))])).toEqual(['Elementwise']);
      // Beside float32, and a number.
      expect(await fused([op(op(a, leaf(shape, 3)), b), op(op(a, constant(1.7)), constant(-0.3))])).toEqual([
        'Elementwise',
      ]);
    });

    test('a chain whose values are read in both types', async () => {
      const sum = add(a, b);
      const wide = mul(cast(sum, 'float32'), leaf(shape, 3));
      const condition = or(greater(sum, a), isNaN(b));
      const chosen = where(condition, neg(sum), sqrt(abs(b)));
      const values = [sum, wide, narrow(wide), condition, chosen, relu(chosen), reshape(sum, [1, size])];
      expect(await fused(values)).toEqual(['Elementwise']);
    });
  },
);

test('more arrays than a program has arguments for', async () => {
  const values = Array.from({ length: 12 }, (_, seed) => narrow(leaf([40], seed + 1)));
  await fused([values.reduce((sum, value) => add(sum, value))]);
});

test('a block of a transformer under autocast converts no array in a pass of its own', async () => {
  const [batch, length, width] = [2, 5, 24];
  const linear = (x: Value, seed: number, to = width) =>
    matmul(narrow(x), narrow(parameter([x.shape.at(-1)!, to], seed)));
  const norm = (x: Value, seed: number) => layerNormalize(x, 1, 1e-5, parameter([width], seed), undefined);
  let x = parameter([batch, length, width], 1);
  for (const seed of [10, 20]) {
    x = add(x, softmax(linear(norm(x, seed), seed + 1), -1));
    x = add(x, linear(gelu(linear(norm(x, seed + 2), seed + 3, 4 * width)), seed + 4));
  }
  const loss = reduceSum(mul(norm(x, 30), parameter([batch, length, width], 3)), [0, 1, 2], false);
  const values = [loss, ...differentiate(loss).values()];
  const count = (all: readonly string[], op: string) => all.filter((one) => one === op).length;
  const all = await fused(values);
  expect([count(all, 'Add'), count(all, 'Cast'), count(all, 'LayerNormalize')]).toEqual([0, 0, 1]);
  expect(count(all, 'AddLayerNormalize')).toBe(4);
});
