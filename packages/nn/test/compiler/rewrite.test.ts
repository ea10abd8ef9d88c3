import { describe, expect, test } from 'vitest';
import { allOnHost } from '../../src/executor/value-buffer.ts';
import { emitModel } from '../../src/executor/cpu/emit.ts';
import { rewrite } from '../../src/compiler/rewrite.ts';
import { batchInnermost } from '../../src/executor/cpu/rewrites/batch-innermost/index.ts';
import { reluAfterMaxPool } from '../../src/compiler/rewrites/relu-after-max-pool.ts';
import { compileModel } from '../../src/executor/cpu/onnxruntime.ts';
import type { Value } from '../../src/graph/node.ts';
import { sizeOf } from '../../src/value-type.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { topologicalOrder } from '../../src/graph/topology.ts';
import { F, tensor } from '../../src/index.ts';
import { add, relu } from '../../src/ops/elementwise.ts';
import { maxPool } from '../../src/ops/pooling.ts';
import { input } from '../../src/ops/source.ts';
import { fill } from '../support/fill.ts';
import { MnistCnn } from '../support/mnist-cnn.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

/** Runs a graph without rewrites. */
async function computed(value: Value): Promise<Float32Array> {
  const { leaves } = structureOf([value]);
  const inputs = leaves.map((leaf) => leaf.value);
  const program = await compileModel({
    name: 'rewritten',
    model: emitModel(leaves, [value]),
    inputs,
    outputs: [value],
    isLong: false,
  });
  const output = new Float32Array(sizeOf(value.shape));
  await program.run(allOnHost(leaves.map(({ source }) => source.data)), allOnHost([output]));
  return output;
}

const operatorsOf = (value: Value) => topologicalOrder([value]).map(({ op }) => op);
const image = input('float32', [2, 3, 6, 6], { data: fill([2, 3, 6, 6], 1) });
const pooled = (x: Value, pad = 0) =>
  maxPool(x, { kernelShape: [2, 2], strides: [2, 2], pads: [pad, pad, pad, pad] });

describe('rewrite', () => {
  test('returns a graph unchanged if no rule applies', () => {
    const value = relu(pooled(image));
    expect(rewrite([value], [() => undefined])).toEqual([value]);
  });

  test('keeps the order of outputs, and values shared with a replaced node', async () => {
    const shared = relu(image);
    const outputs = [add(shared, shared), pooled(shared), shared];
    const rewritten = rewrite(outputs, [reluAfterMaxPool]);
    expect(rewritten[0]).toBe(outputs[0]);
    expect(rewritten[2]).toBe(shared);
    expect(operatorsOf(rewritten[1])).toEqual(['Input', 'MaxPool', 'Relu']);
    expect(await computed(rewritten[1])).toEqual(await computed(outputs[1]));
  });
});

describe('reluAfterMaxPool', () => {
  test('swaps the two, bit-identically', async () => {
    const value = pooled(relu(image));
    const [rewritten] = rewrite([value], [reluAfterMaxPool]);
    expect(operatorsOf(rewritten)).toEqual(['Input', 'MaxPool', 'Relu']);
    expect(await computed(rewritten)).toEqual(await computed(value));
  });

  test('leaves padded windows unchanged', () => {
    const value = pooled(relu(image), 1);
    expect(rewrite([value], [reluAfterMaxPool])).toEqual([value]);
  });
});

test('batchInnermost: the loss of the MNIST CNN equals the loss without it', async () => {
  const shape = [16, 1, 28, 28];
  const classes = tensor(BigInt64Array.from({ length: 16 }, (_, k) => BigInt(k % 10)));
  const { value } = F.nllLoss(new MnistCnn().forward(tensor(fill(shape, 1), shape)), classes);
  const [rewritten] = rewrite(rewrite([value], [reluAfterMaxPool]), batchInnermost);
  expect(operatorsOf(rewritten)).not.toContain('MaxPool');
  expect(operatorsOf(value)).toContain('MaxPool');
  expectClose('loss', await computed(rewritten), [...(await computed(value))], 1e-6);
});
