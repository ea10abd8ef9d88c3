import * as ort from 'onnxruntime-node';
import { describe, expect, test } from 'vitest';
import {
  arange,
  cat,
  exportOnnx,
  importOnnx,
  manualSeed,
  nn,
  tensor,
  type ExportInput,
  type Tensor,
} from '../../../src/index.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';

describe('dynamic sequences', () => {
  class Reader extends nn.Module {
    readonly words = new nn.Embedding(10, 8);
    readonly places = new nn.Embedding(16, 8);
    readonly encoder = new nn.TransformerEncoderLayer(8, 2, { dimFeedforward: 12, batchFirst: true });
    readonly head = new nn.Linear(8, 3);

    forward(tokens: Tensor, weights: Tensor): { scores: Tensor; states: Tensor } {
      const length = tokens.shape[1];
      const x = this.words.forward(tokens).add(this.places.forward(arange(length)));
      const states = this.encoder.forward(x, { isCausal: true });
      const pooled = states.mul(weights.unsqueeze(-1)).mean([1]).mul(length);
      return { scores: this.head.forward(pooled), states };
    }
  }
  const dynamicAxes = { 0: 'batch', 1: 'length' };
  const inputs = [
    { name: 'tokens', shape: [1, 16], dtype: 'int64', dynamicAxes },
    { name: 'weights', shape: [1, 16], dynamicAxes },
  ] as const;

  test('compute the same as the module for other batches and lengths, and are imported', async () => {
    manualSeed(1);
    const module = new Reader();
    const bytes = exportOnnx(module, { inputs });
    const session = await ort.InferenceSession.create(bytes);
    expect(session.inputMetadata).toMatchObject([
      { shape: ['batch', 'length'] },
      { shape: ['batch', 'length'] },
    ]);
    expect(session.outputMetadata).toMatchObject([
      { shape: ['batch', 3] },
      { shape: ['batch', 'length', 8] },
    ]);
    const imported = await importOnnx<{ scores: Tensor; states: Tensor }>(bytes);
    module.eval();
    for (const [batch, length] of [
      [1, 1],
      [3, 5],
      [2, 16],
    ]) {
      const shape = [batch, length];
      const tokens = BigInt64Array.from({ length: batch * length }, (_, i) => BigInt((i * 7) % 10));
      const weights = fill(shape, 1);
      const results = await session.run({
        tokens: new ort.Tensor('int64', tokens, shape),
        weights: new ort.Tensor('float32', weights, shape),
      });
      const expected = module.forward(tensor(tokens, shape), tensor(weights, shape));
      const again = imported.eval().forward(tensor(tokens, shape), tensor(weights, shape));
      for (const name of ['scores', 'states'] as const) {
        const numbers = (await expected[name].array()) as Float32Array;
        expect(results[name].dims).toEqual(expected[name].shape);
        expectClose(name, results[name].data as Float32Array, numbers, 1e-5);
        expectClose(name, await again[name].array(), numbers, 1e-5);
      }
    }
  });

  test('dimensions of outputs are formulas of all sizes', async () => {
    class Rows extends nn.Module {
      forward(x: Tensor): Tensor[] {
        const [batch, length] = x.shape;
        return [
          x.view(batch * length, 3),
          x.sum().div(batch * length + batch),
          cat([x, x.narrow(1, 1, length - 1)], 1),
        ];
      }
    }
    const bytes = exportOnnx(new Rows(), { inputs: [{ shape: [2, 5, 3], dynamicAxes }] });
    const session = await ort.InferenceSession.create(bytes);
    expect(
      session.outputMetadata.map((one) => (one as ort.InferenceSession.TensorValueMetadata).shape),
    ).toEqual([['batch*length', 3], [], ['batch', '2*length-1', 3]]);
    const shape = [4, 7, 3];
    const results = await session.run({ input: new ort.Tensor('float32', fill(shape, 1), shape) });
    const expected = new Rows().forward(tensor(fill(shape, 1), shape));
    for (const [index, output] of expected.entries()) {
      const actual = results[`output_${index}`];
      expect(actual.dims).toEqual(output.shape);
      expectClose(
        `output ${index}`,
        actual.data as Float32Array,
        (await output.array()) as Float32Array,
        1e-6,
      );
    }
  });

  test('reject sizes that no formula computes, and invalid names', () => {
    class Odd extends nn.Module {
      forward(x: Tensor): Tensor {
        return x.div(Math.sqrt(x.shape[1]));
      }
    }
    const exported = (input: Partial<ExportInput>) => () =>
      exportOnnx(new Odd(), { inputs: [{ shape: [1, 8], dynamicAxes, ...input }] });
    expect(exported({})).toThrow(
      /the batch and the length cannot be dynamic: in Div.* is .* for a batch of 97 and a length of 8/,
    );
    expect(exported({ dynamicAxes: { 2: 'length' } })).toThrow(/must name dimensions from 0 to 1/);
    expect(exported({ shape: [1, 3] })).toThrow(/must have its largest size, at least 4, got 3/);
    expect(() => exportOnnx(new Reader(), { inputs: [inputs[0], { ...inputs[1], shape: [1, 8] }] })).toThrow(
      /the dimensions named length must have one size, got 16 for tokens and 8 for weights/,
    );
  });
});
