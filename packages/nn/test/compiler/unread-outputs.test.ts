import { describe, expect, test } from 'vitest';
import { definitionOf as definitionOfProgram } from '../../src/compiler/program-definition.ts';
import { newArray, type TensorData } from '../../src/dtype.ts';
import { allOnHost } from '../../src/executor/value-buffer.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import type { Value } from '../../src/graph/node.ts';
import { sizeOf } from '../../src/value-type.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { batchNormalizeActivate } from '../../src/ops/own/batch-normalize-activate.ts';
import { batchNormalize } from '../../src/ops/batch-normalization.ts';
import { relu } from '../../src/ops/elementwise.ts';
import { normalize } from '../../src/ops/normalization.ts';
import { topK } from '../../src/ops/ordering.ts';
import { clipNorm } from '../../src/ops/own/clip-norm.ts';
import { ctcLosses } from '../../src/ops/own/ctc-loss.ts';
import { embeddingBag } from '../../src/ops/own/embedding-bag.ts';
import { layerNormalize } from '../../src/ops/own/layer-normalize.ts';
import { maxPoolActivate } from '../../src/ops/own/max-pool-activate.ts';
import { recurrence } from '../../src/ops/own/recurrence.ts';
import { softmaxCrossEntropy } from '../../src/ops/own/softmax-cross-entropy.ts';
import { maxPool } from '../../src/ops/pooling.ts';
import { split } from '../../src/ops/shape.ts';
import { negativeLogLikelihood } from '../../src/ops/softmax.ts';
import { input } from '../../src/ops/source.ts';
import { refuseGradient } from '../../src/ops/definition.ts';
import { definitionOf } from '../../src/ops/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const floats = (shape: readonly number[], seed: number): Value =>
  input('float32', shape, { data: fill(shape, seed) });
const integers = (...list: number[]): Value =>
  input('int64', [list.length], { data: BigInt64Array.from(list, BigInt) });

const [x, weight, bias] = [floats([4, 3], 1), floats([3], 2), floats([3], 3)];
const images = floats([4, 3, 2, 4], 4);
const recurrent = (cell: 'lstm' | 'gru', gates: number): Value =>
  recurrence(cell, false, {
    gates: floats([2, 3, gates * 4], 5),
    weight: floats([gates * 4, 4], 6),
    state: floats([3, 4], 7),
    cellState: cell === 'lstm' ? floats([3, 4], 8) : undefined,
  }).states;

/** A value of every operator with several outputs. */
const values: Readonly<Record<string, Value>> = {
  Relu: relu(x),
  Split: split(x, 0, 2)[0],
  TopK: topK(x, 2, 1, true).values,
  MaxPool: maxPool(images, { kernelShape: [2, 2], strides: [2, 2], pads: [0, 0, 0, 0] }),
  Normalize: normalize(x, [1], 1e-5).normalized,
  BatchNormalize: batchNormalize(x, weight, bias, 1e-5).normalized,
  NegativeLogLikelihoodLoss: negativeLogLikelihood(x, integers(0, 1, 2, 1), -100),
  LayerNormalize: layerNormalize(x, 1, 1e-5, weight, bias),
  SoftmaxCrossEntropy: softmaxCrossEntropy(x, integers(0, 1, 2, 1), { ignoreIndex: -100, reduction: 'mean' }),
  ClipNorm: clipNorm([x, weight], floats([], 1), { normType: 2, requiresFinite: false }).norm,
  CtcLoss: ctcLosses(
    {
      logProbs: floats([5, 1, 3], 1),
      targets: input('int64', [1, 2], { data: BigInt64Array.of(1n, 2n) }),
      inputLengths: integers(5),
      targetLengths: integers(2),
    },
    { blank: 0, zeroInfinity: false },
  ),
  EmbeddingBag: embeddingBag({ table: x, rows: integers(0, 1, 2), offsets: integers(0, 2), mode: 'max' }),
  MaxPoolActivate: maxPoolActivate(images, bias, { kernelShape: [2, 2], activates: true }),
  BatchNormalizeActivate: batchNormalizeActivate([x, weight, bias], 1e-5, floats([4, 3], 9), true).outputs[0],
  lstm: recurrent('lstm', 4),
  gru: recurrent('gru', 3),
};

/** The gradient operators among them. */
const gradients = Object.fromEntries(
  Object.entries(values).flatMap(([name, { node }]) => {
    // The gradient array of CtcLoss has no derivative.
    const count = node.op === 'CtcLoss' ? 1 : node.outputs.length;
    const received = node.outputs.map((output, i) =>
      isFloat(output) && i < count ? floats(output.shape, 10 + i) : undefined,
    );
    const { gradient } = definitionOf(node);
    const hasRule = gradient !== 'ofPlain' && gradient !== refuseGradient;
    const [made] = hasRule ? gradient(node, received) : [];
    return made !== undefined && made.node.outputs.length > 1 ? [[`gradient of ${name}`, made]] : [];
  }),
);

function isFloat({ dtype }: Value): boolean {
  return dtype === 'float32';
}

describe.each(Object.entries({ ...values, ...gradients }))('%s', (_, { node: { outputs } }) => {
  test('computes each of its outputs alone, and any of them together', async () => {
    expect(outputs.length).toBeGreaterThan(1);
    const all = await computed(outputs);
    for (let chosen = 1; chosen < 2 ** outputs.length; chosen += 1) {
      const read = outputs.filter((_, i) => (chosen & (2 ** i)) !== 0);
      const expected = [...all].filter(([output]) => read.includes(output));
      expect([...(await computed(read))]).toEqual(expected);
    }
  });
});

/** The numbers of each output. Flags and places are left out, because some of their bits are not written. */
async function computed(outputs: readonly Value[]): Promise<Map<Value, TensorData>> {
  const { leaves } = structureOf(outputs);
  const program = await onnxruntimeExecutor.compile(definitionOfProgram('test', leaves, outputs));
  const arrays = outputs.map(({ dtype, shape }) => newArray(dtype, sizeOf(shape)));
  await program.run(allOnHost(leaves.map(({ source }) => source.data)), allOnHost(arrays));
  await program.release();
  return new Map(outputs.flatMap((output, i) => (isFloat(output) ? [[output, arrays[i]]] : [])));
}
