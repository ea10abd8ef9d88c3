import { describe, expect, test } from 'vitest';
import { fuseLayerNormalization } from '../../../src/executor/cpu/fuse-layer-normalization.ts';
import { differentiate } from '../../../src/compiler/differentiate.ts';
import type { Value } from '../../../src/graph/node.ts';
import { topologicalOrder } from '../../../src/graph/topology.ts';
import { add, mul } from '../../../src/ops/elementwise.ts';
import { layerNormalize } from '../../../src/ops/own/layer-normalize.ts';
import { matmul } from '../../../src/ops/linear-algebra.ts';
import { reduceSum } from '../../../src/ops/reduction.ts';
import { input } from '../../../src/ops/source.ts';
import { Parameter } from '../../../src/index.ts';
import { computed } from '../../support/computed-graph.ts';
import { fill } from '../../support/fill.ts';
import '../../support/one-thread.ts';

const [batch, length, width] = [3, 5, 24];

const leaf = (shape: readonly number[], seed: number) => input('float32', shape, { data: fill(shape, seed) });
const parameter = (shape: readonly number[], seed: number) =>
  new Parameter(fill(shape, seed), shape).trainedValue;

const operators = (values: readonly Value[]) =>
  topologicalOrder(values)
    .map(({ op }) => op)
    .filter((op) => op === 'Add' || op.includes('LayerNormalize'))
    .sort();

/** The operators after the fusion, whose results are bit-identical. */
async function fused(values: readonly Value[]): Promise<readonly string[]> {
  const result = fuseLayerNormalization(values);
  expect(await computed(values, result)).toEqual(await computed(values, values));
  return operators(result);
}

const norm = (x: Value, seed: number) =>
  layerNormalize(x, 1, 1e-5, parameter([width], seed), parameter([width], seed + 1));

/** The loss of two pre-norm blocks and its gradients. */
function blocks(): Value[] {
  let x = add(parameter([batch, length, width], 1), parameter([length, width], 2));
  for (const seed of [10, 20]) x = add(x, matmul(norm(x, seed), parameter([width, width], seed + 5)));
  const loss = reduceSum(mul(norm(x, 30), leaf([batch, length, width], 3)), [0, 1, 2], false);
  return [loss, ...differentiate(loss).values()];
}

describe('fuseLayerNormalization', () => {
  test('leaves no addition between the blocks of a transformer, forward and backward', async () => {
    const values = blocks();
    const count = (op: string) => operators(values).filter((one) => one === op).length;
    expect([count('Add'), count('LayerNormalize'), count('LayerNormalizeGradient')]).toEqual([5, 3, 3]);
    expect(await fused(values)).toEqual([
      ...Array<string>(3).fill('AddLayerNormalize'),
      ...Array<string>(3).fill('LayerNormalizeGradient'),
    ]);
  });

  test('keeps an addition that an elementwise program contains', async () => {
    const [a, b, c] = [1, 2, 3].map((seed) => leaf([batch, width], seed));
    expect(await fused([norm(add(mul(a, b), c), 4)])).toEqual(['Add', 'LayerNormalize']);
  });

  test('keeps the addition of columns, and one that two normalizations read fuses once', async () => {
    const [a, column] = [leaf([batch, width], 1), leaf([batch, 1], 2)];
    expect(await fused([norm(add(a, column), 4)])).toEqual(['Add', 'LayerNormalize']);
    const sum = add(a, leaf([batch, width], 3));
    expect(await fused([norm(sum, 4), norm(sum, 6), sum])).toEqual(['AddLayerNormalize', 'LayerNormalize']);
  });

  test('keeps the addition of a gradient that depends on the gradient of the weight', async () => {
    const x = parameter([batch, width], 1);
    const weight = parameter([width], 2);
    const y = layerNormalize(x, 1, 1e-5, weight, undefined);
    const loss = reduceSum(mul(y, leaf([batch, width], 3)), [0, 1], false);
    const gradients = differentiate(loss);
    const [dx, dWeight] = [gradients.get(x)!, gradients.get(weight)!];
    const other = matmul(leaf([batch, 1], 4), mul(leaf([1, width], 5), dWeight));
    expect(await fused([add(other, dx), dWeight])).toEqual([
      'Add',
      'LayerNormalize',
      'LayerNormalizeGradient',
    ]);
    expect(await fused([add(leaf([batch, width], 6), dx), dWeight])).toEqual([
      'LayerNormalize',
      'LayerNormalizeGradient',
    ]);
  });

  test('keeps the addition of a gradient that is read elsewhere', async () => {
    const x = parameter([batch, width], 1);
    const loss = reduceSum(mul(norm(x, 2), leaf([batch, width], 3)), [0, 1], false);
    const dx = differentiate(loss).get(x)!;
    const sum = add(leaf([batch, width], 6), dx);
    expect(await fused([sum, dx])).toEqual(['Add', 'LayerNormalize', 'LayerNormalizeGradient']);
  });
});
