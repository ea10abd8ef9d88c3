import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { differentiate } from '../../src/compiler/differentiate.ts';
import { GraphProgram } from '../../src/compiler/graph-program.ts';
import { recomputeActivations } from '../../src/compiler/recompute-activations.ts';
import type { DType } from '../../src/dtype.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { allOnHost } from '../../src/executor/value-buffer.ts';
import type { Value } from '../../src/graph/node.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { add, cast, mul } from '../../src/ops/elementwise.ts';
import { gelu } from '../../src/ops/own/gelu.ts';
import { layerNormalize } from '../../src/ops/own/layer-normalize.ts';
import { matmul } from '../../src/ops/linear-algebra.ts';
import { reduceSum } from '../../src/ops/reduction.ts';
import { input } from '../../src/ops/source.ts';
import { sizeOf } from '../../src/value-type.ts';
import { Parameter } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const [rows, width] = [256, 256];

const parameter = (seed: number, shape: readonly number[] = [width, width]) =>
  new Parameter(fill(shape, seed), shape).trainedValue;

/** x + gelu(norm(x)·A)·B, as autocast writes it. */
function block(x: Value, seed: number, dtype: DType): Value {
  const normalized = layerNormalize(x, 1, 1e-5, parameter(seed, [width]), parameter(seed + 1, [width]));
  const narrow = (value: Value) => cast(value, dtype);
  const inner = gelu(matmul(narrow(normalized), narrow(parameter(seed + 2))));
  return add(x, cast(matmul(inner, narrow(parameter(seed + 3))), 'float32'));
}

/** The loss of two blocks and its gradients. */
function stepOf(dtype: DType): Value[] {
  const x = parameter(1, [rows, width]);
  const target = input('float32', [rows, width], { data: fill([rows, width], 2) });
  const loss = reduceSum(mul(block(block(x, 10, dtype), 20, dtype), target), [0, 1], false);
  return [loss, ...differentiate(loss).values()];
}

async function computed(outputs: readonly Value[]): Promise<Float32Array[]> {
  const structure = structureOf(outputs);
  const program = await GraphProgram.compile(onnxruntimeExecutor, 'test', structure, outputs);
  const arrays = outputs.map(({ shape }) => new Float32Array(sizeOf(shape)));
  const inputs = allOnHost(structure.leaves.map(({ source }) => source.data));
  await program.run({ inputs, outputs: allOnHost(arrays), groups: [] });
  return arrays;
}

const bitsOf = (array: Float32Array) => createHash('sha256').update(array).digest('hex');

const isUnchanged = (outputs: readonly Value[]) =>
  recomputeActivations(outputs, 1).every((value, position) => value === outputs[position]);

/** What computes the values that the backward pass keeps, without parameters. */
function keptBy(outputs: readonly Value[]): string[] {
  const forward = new Set(topologicalOrder([outputs[0]]));
  const backward = topologicalOrder(outputs).filter((node) => !forward.has(node));
  // The readers of AddDependency keep its memory.
  const read = backward.flatMap(({ inputs }) => inputs).filter(({ node }) => forward.has(node));
  const large = [...new Set(read)].filter(({ shape }) => sizeOf(shape) >= rows * width);
  return large
    .map(({ node }) => node.op)
    .filter((op) => op !== 'Input')
    .sort();
}

describe('recomputeActivations', () => {
  test('keeps products and sums of a transformer in bfloat16, and no activation, norm or rounded parameter', () => {
    const values = stepOf('bfloat16');
    expect(keptBy(values)).toEqual([
      'Add',
      ...Array<string>(6).fill('Cast'),
      ...Array<string>(2).fill('Gelu'),
      ...Array<string>(2).fill('MatMul'),
    ]);
    expect(keptBy(recomputeActivations(values, 1))).toEqual(['Add', 'MatMul', 'MatMul']);
  });

  test('does not change a bit of the loss or of a gradient', async () => {
    const values = stepOf('bfloat16');
    const [kept, again] = [await computed(values), await computed(recomputeActivations(values, 1))];
    expect(again.map(bitsOf)).toEqual(kept.map(bitsOf));
  });

  test('leaves programs in float32 as they are', () => {
    const values = stepOf('float32');
    expect(isUnchanged(values)).toBe(true);
  });

  test('leaves small arrays, and a value whose reader does not wait for a gradient', () => {
    const small = parameter(1, [8, 8]);
    const x = matmul(cast(small, 'bfloat16'), cast(parameter(2, [8, 8]), 'bfloat16'));
    const loss = reduceSum(cast(gelu(x), 'float32'), [0, 1], false);
    const values = [loss, ...differentiate(loss).values()];
    expect(isUnchanged(values)).toBe(true);
    const narrow = cast(parameter(3), 'bfloat16');
    const read = [reduceSum(cast(narrow, 'float32'), [0, 1], false), matmul(narrow, narrow)];
    expect(isUnchanged(read)).toBe(true);
  });
});
