import * as ort from 'onnxruntime-node';
import { destroyProcessGroup, DistributedDataParallel, initProcessGroup } from 'ringrun';
import { describe, expect, onTestFinished, test } from 'vitest';
import { exportOnnx, nn, tensor, type ExportOptions, type Tensor } from '../../../src/index.ts';
import { fill } from '../../support/fill.ts';
import { expectClose } from '../../support/numeric.ts';

describe('several inputs and outputs', () => {
  class Reader extends nn.Module {
    readonly words = new nn.Embedding(10, 6);
    readonly norm = new nn.BatchNorm1d(6);
    readonly head = new nn.Linear(6, 2);

    forward(tokens: Tensor, mask: Tensor, bias: Tensor): { scores: Tensor; mean: Tensor } {
      const words = this.words.forward(tokens).mul(mask.unsqueeze(-1));
      const pooled = words.sum([1]).div(mask.sum([1], true));
      return { scores: this.head.forward(this.norm.forward(pooled)).add(bias), mean: pooled.mean([0]) };
    }
  }
  const inputs = [
    { name: 'tokens', shape: [1, 5], dtype: 'int64' },
    { name: 'mask', shape: [1, 5] },
    { name: 'bias', shape: [2], fixed: true },
  ] as const;

  test('of int64 and float32 compute the same as the module for any batch, with DDP and buffers', async () => {
    const module = new Reader();
    // Its own running statistics.
    await module.norm
      .forward(tensor(fill([7, 6], 1), [7, 6]))
      .sum()
      .backward();
    await initProcessGroup();
    onTestFinished(() => destroyProcessGroup());
    const wrapper = new DistributedDataParallel(module);
    const session = await ort.InferenceSession.create(exportOnnx(wrapper, { inputs }));
    expect([session.inputNames, session.outputNames]).toEqual([
      ['tokens', 'mask', 'bias'],
      ['scores', 'mean'],
    ]);
    expect(session.inputMetadata).toMatchObject([
      { type: 'int64', shape: ['batch', 5] },
      { type: 'float32', shape: ['batch', 5] },
      { type: 'float32', shape: [2] },
    ]);
    expect(module.training && module.norm.training).toBe(true);
    module.eval();
    for (const batch of [1, 3]) {
      const tokens = BigInt64Array.from({ length: batch * 5 }, (_, i) => BigInt((i * 7) % 10));
      const mask = Float32Array.from({ length: batch * 5 }, (_, i) => (i % 5 === 4 ? 0 : 1));
      const bias = Float32Array.of(1, -1);
      const shape = [batch, 5];
      const given = await session.run({
        tokens: new ort.Tensor('int64', tokens, shape),
        mask: new ort.Tensor('float32', mask, shape),
        bias: new ort.Tensor('float32', bias, [2]),
      });
      const expected = module.forward(tensor(tokens, shape), tensor(mask, shape), tensor(bias));
      for (const name of ['scores', 'mean'] as const) {
        expect(given[name].dims).toEqual(expected[name].shape);
        const numbers = (await expected[name].array()) as Float32Array;
        expectClose(name, given[name].data as Float32Array, numbers, 1e-6);
      }
    }
  });

  test('have names on request; an array numbers its outputs', async () => {
    class Pair extends nn.Module {
      forward(a: Tensor, b: Tensor): Tensor[] {
        return [a.add(b), a, a.sub(b)];
      }
    }
    const two = [{ shape: [1, 2] }, { shape: [1, 2] }];
    const numbered = await ort.InferenceSession.create(exportOnnx(new Pair(), { inputs: two }));
    expect(numbered.inputNames).toEqual(['input_0', 'input_1']);
    expect(numbered.outputNames).toEqual(['output_0', 'output_1', 'output_2']);
    const outputNames = ['sum', 'same', 'difference'];
    const named = await ort.InferenceSession.create(exportOnnx(new Pair(), { inputs: two, outputNames }));
    expect(named.outputNames).toEqual(outputNames);
    const tensors = [3, 1].map(
      (number) => new ort.Tensor('float32', Float32Array.of(number, number), [1, 2]),
    );
    const results = await named.run({ input_0: tensors[0], input_1: tensors[1] });
    expect(outputNames.map((name) => results[name].data[0])).toEqual([4, 3, 2]);
  });

  test.each([
    ['inputs and inputShape', { inputShape: [1, 5], inputs }, /expected either inputShape/],
    ['no inputs', {}, /expected either inputShape/],
    ['a shape without a size', { inputs: [{ shape: [0, 5] }] }, /the shape of input must be .*, got \[0,5\]/],
    [
      'a dtype that tensors do not have',
      { inputs: [{ shape: [1], dtype: 'float16' }] },
      /dtype of input must be/,
    ],
    [
      'too few names',
      { inputs, outputNames: ['scores'] },
      /expected 2 output names, one for each tensor that forward returns, got 1: scores/,
    ],
    ['a name that is taken', { inputs, outputNames: ['scores', 'head.bias'] }, /got 'head\.bias' twice/],
    ['an unknown option', { inputShap: [1, 5] }, /inputShap/],
  ])('rejects %s', (_, options, message) => {
    expect(() => exportOnnx(new Reader(), options as ExportOptions)).toThrow(message);
  });

  test('rejects a forward that does not return tensors', () => {
    class Odd extends nn.Module {
      forward(x: Tensor): unknown {
        return { x, count: 1 };
      }
    }
    expect(() => exportOnnx(new Odd(), { inputShape: [1, 2] })).toThrow(
      /forward must return a Tensor, an array/,
    );
  });
});
