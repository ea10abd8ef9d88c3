import { describe, expect, test } from 'vitest';
import { emitModel } from '../src/compiler/emit.ts';
import type { TensorData } from '../src/dtype.ts';
import { onnxruntimeExecutor } from '../src/executor/onnxruntime.ts';
import { sizeOf, type Value } from '../src/graph/node.ts';
import { structureOf } from '../src/graph/structure.ts';
import { GraphBuilder } from '../src/onnx/graph-builder.ts';
import { ModelProto } from '../src/onnx/schema.ts';
import { withOwnOperators } from '../src/own-operators.ts';
import { addDependency } from '../src/ops/dependency.ts';
import { add, mul } from '../src/ops/elementwise.ts';
import { input } from '../src/ops/source.ts';
import { fill } from './fill.ts';
import './one-thread.ts';

/** Around the widths of vectors: 4, 8 and 16 elements. */
const sizes = [0, 1, 7, 8, 9, 15, 16, 17, 63, 65, 1023];

/** Computes float32 values with and without the operators of the addon. */
async function bothWays(values: readonly Value[]): Promise<{ own: Float32Array[]; plain: Float32Array[] }> {
  return { own: await computed(values, true), plain: await computed(values, false) };
}

async function computed(values: readonly Value[], isOwn: boolean): Promise<Float32Array[]> {
  const { leaves } = structureOf(values);
  const model = withOwnOperators(isOwn, () => emitModel(leaves, values));
  expect(domainsOf(model).has('ringrun')).toBe(isOwn);
  const inputs = leaves.map(({ value }) => value);
  const definition = { name: 'test', model, inputs, outputs: values, holdsMemory: false, isLong: false };
  const program = await onnxruntimeExecutor.compile(definition);
  const outputs = values.map(({ shape }) => new Float32Array(sizeOf(shape)));
  await program.run(
    leaves.map(({ source }) => source.data),
    outputs,
  );
  await program.release();
  return outputs;
}

function domainsOf(model: Uint8Array): Set<string> {
  const { graph } = ModelProto.decode(model) as unknown as { graph: { node: { domain: string }[] } };
  return new Set(graph.node.map(({ domain }) => domain));
}

const leaf = (shape: readonly number[], seed: number): Value =>
  input('float32', shape, { data: fill(shape, seed) });

describe('an operator of the addon', () => {
  /** y = AddDependency(a, b…), with these inputs and attributes in place of the right ones. */
  const compiled = async (types: readonly Value[], output: Value) => {
    const graph = new GraphBuilder();
    const names = types.map((_, position) => `input_${position}`);
    for (const [position, { dtype, shape }] of types.entries()) graph.input(names[position], dtype, shape);
    graph.output('output_0', output.dtype, output.shape);
    graph.ownNode('AddDependency', names, ['output_0']);
    const definition = { name: 'test', inputs: types, outputs: [output], holdsMemory: false, isLong: false };
    return onnxruntimeExecutor.compile({ ...definition, model: graph.encode() });
  };
  const run = async (types: readonly Value[], output: Value, arrays: readonly TensorData[]) => {
    const result = new Float32Array(sizeOf(output.shape));
    await (await compiled(types, output)).run(arrays, [result]);
    return result;
  };

  test('takes any number of inputs', async () => {
    const values = [leaf([3], 1), leaf([2], 2), leaf([4], 3)];
    const arrays = values.map(({ shape }, seed) => fill(shape, seed));
    expect(await run(values, values[0], arrays)).toEqual(arrays[0]);
  });

  test('fails with its message, and the process computes on', async () => {
    const [nine, x] = [leaf([1, 1, 1, 1, 1, 1, 1, 1, 1], 1), leaf([2], 2)];
    const program = await compiled([nine, x], nine);
    const arrays = [new Float32Array(1), new Float32Array(2)];
    await expect(program.run(arrays, [new Float32Array(1)])).rejects.toThrow(
      'AddDependency: expected at most 8 dimensions, got 9',
    );
    expect(await run([x, x], x, [Float32Array.of(3, 4), new Float32Array(2)])).toEqual(Float32Array.of(3, 4));
  });

  test('is not compiled with inputs of other types', async () => {
    const x = leaf([2], 1);
    const integers = input('int64', [2], { data: new BigInt64Array(2) });
    await expect(compiled([x, integers], x)).rejects.toThrow(/could not compile a graph: .*int64/);
  });
});

describe('AddDependency', () => {
  test.each(sizes)('of %i elements', async (size) => {
    const [x, y] = [leaf([size], 1), leaf([3], 2)];
    // The value is read again, so that it is not computed in place.
    const doubled = mul(x, x);
    const { own, plain } = await bothWays([add(addDependency(doubled, add(y, y)), doubled)]);
    expect(own).toEqual(plain);
  });
});
