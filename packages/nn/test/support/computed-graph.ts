import { newArray, type TensorData } from '../../src/dtype.ts';
import { emitModel } from '../../src/executor/cpu/emit.ts';
import { compileModel } from '../../src/executor/cpu/onnxruntime.ts';
import { allOnHost } from '../../src/executor/value-buffer.ts';
import type { Value } from '../../src/graph/node.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { inFloat32, sizeOf } from '../../src/value-type.ts';

/** Computes a graph as it is, without fusions. `values`: a graph with the same leaves, which gives their order. */
export async function computed(values: readonly Value[], outputs: readonly Value[]): Promise<TensorData[]> {
  const { leaves } = structureOf(values);
  const types = outputs.map(inFloat32);
  const inputs = leaves.map(({ value }) => value);
  const model = emitModel(leaves, outputs);
  const program = await compileModel({ name: 'test', model, inputs, outputs: types, isLong: false });
  const arrays = types.map(({ dtype, shape }) => newArray(dtype, sizeOf(shape)));
  await program.run(allOnHost(leaves.map(({ source }) => source.data)), allOnHost(arrays));
  await program.release();
  return arrays;
}

/** The bits of floats, with one NaN for all, and the numbers of other arrays. */
export const bitsOf = (arrays: readonly TensorData[]) =>
  arrays.map((array) =>
    array instanceof Float32Array
      ? [...new Uint32Array(array.map((one) => (Number.isNaN(one) ? NaN : one)).buffer)]
      : Array.from(array, Number),
  );
