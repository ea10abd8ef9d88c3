import { expect } from 'vitest';
import { inReverseOrder } from '../../../../native/test/gpu/reverse-order.ts';
import { definitionOf } from '../../src/compiler/program-definition.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { forHost } from '../../src/executor/cuda/rewrites.ts';
import type { Executor } from '../../src/executor/executor.ts';
import type { Value } from '../../src/graph/node.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { sizeOf } from '../../src/value-type.ts';

/** Different numbers from −1 to 1, of few bits. */
export function numbers(shape: readonly number[], seed: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: sizeOf(shape) }, (_, i) => (((i * 37 + seed * 11) % 127) - 63) / 64);
}

/**
 * The elements of the outputs of a forward pass: bit-identical in three runs of their program, the third one with the blocks and
 * threads of the fake GPU in the reverse order.
 */
export async function computedBy(executor: Executor, given: readonly Value[]): Promise<number[][]> {
  const { leaves } = structureOf(given);
  const outputs = executor.prepareForward(given, 'evaluation');
  const definition = definitionOf('test', leaves, outputs);
  const program = await executor.compile(executor === onnxruntimeExecutor ? forHost(definition) : definition);
  const runOnce = async (): Promise<number[][]> => {
    const inputs = leaves.map(({ source }) => executor.upload(source.data));
    const places = outputs.map((output) => executor.allocate(output));
    await program.run(inputs, places);
    const arrays = await Promise.all(places.map(async (place) => await executor.download(place)));
    return arrays.map((array) => Array.from(array, Number));
  };
  const [first, second] = [await runOnce(), await runOnce()];
  const third = await inReverseOrder(runOnce);
  await program.release();
  expect(second, 'the second run').toEqual(first);
  expect(third, 'the third run, in reverse order').toEqual(first);
  return first;
}
