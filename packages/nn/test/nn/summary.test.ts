import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { defaultGenerator, nn, rand, summary, tensor, zeros, type Tensor } from '../../src/index.ts';
// Errors name modules, as for users.
import '../../src/torch-names/entry.ts';
import '../support/one-thread.ts';

class Net extends nn.Module {
  readonly conv = new nn.Conv2d(1, 4, 3);
  readonly norm = new nn.BatchNorm2d(4);
  readonly drop = new nn.Dropout(0.5);
  readonly head = new nn.Sequential(new nn.Flatten(), new nn.Linear(4 * 6 * 6, 10));
  readonly unused = new nn.ModuleList([new nn.Linear(2, 2)]);

  forward(x: Tensor): Tensor {
    rand(2);
    return this.head.forward(this.drop.forward(this.norm.forward(this.conv.forward(x))));
  }
}

test('lists types, output shapes and parameters, and prints a table with totals', () => {
  const model = new Net();
  model.conv.requiresGrad(false);
  const result = summary(model, [2, 1, 8, 8]);
  expect(result.layers).toEqual([
    { name: '', type: 'Net', outputShape: [2, 10], parameters: 0, trainable: 0 },
    { name: 'conv', type: 'Conv2d', outputShape: [2, 4, 6, 6], parameters: 40, trainable: 0 },
    { name: 'norm', type: 'BatchNorm2d', outputShape: [2, 4, 6, 6], parameters: 8, trainable: 8 },
    { name: 'drop', type: 'Dropout', outputShape: [2, 4, 6, 6], parameters: 0, trainable: 0 },
    { name: 'head', type: 'Sequential', outputShape: [2, 10], parameters: 0, trainable: 0 },
    { name: 'head.0', type: 'Flatten', outputShape: [2, 144], parameters: 0, trainable: 0 },
    { name: 'head.1', type: 'Linear', outputShape: [2, 10], parameters: 1450, trainable: 1450 },
    { name: 'unused', type: 'ModuleList', outputShape: undefined, parameters: 0, trainable: 0 },
    { name: 'unused.0', type: 'Linear', outputShape: undefined, parameters: 6, trainable: 6 },
  ]);
  expect([result.parameters, result.trainable]).toEqual([1504, 1464]);
  // And the buffers of the norm: two of 4 elements, and one number.
  expect(result.sizeMB).toBe((4 * (1504 + 9)) / 1e6);
  expect(String(result).split('\n')).toEqual([
    'Layer                 Output shape  Parameters  Trainable',
    '---------------------------------------------------------',
    'Net                   [2, 10]                0          0',
    '  conv: Conv2d        [2, 4, 6, 6]          40          0',
    expect.stringMatching(/^ {2}norm: BatchNorm2d/),
    expect.stringMatching(/^ {2}drop: Dropout/),
    expect.stringMatching(/^ {2}head: Sequential/),
    expect.stringMatching(/^ {4}0: Flatten/),
    expect.stringMatching(/^ {4}1: Linear .* 1,450 +1,450$/),
    expect.stringMatching(/^ {2}unused: ModuleList +- /),
    expect.stringMatching(/^ {4}0: Linear +- /),
    expect.stringMatching(/^-+$/),
    'Parameters: 1,504',
    'Trainable parameters: 1,464',
    'Size of parameters and buffers: 0.01 MB',
  ]);
  expect(inspect(result)).toBe(String(result));
});

test('leaves modes, hooks, buffers and random numbers as they were, even if forward throws', () => {
  const model = new Net();
  model.norm.eval();
  const random = defaultGenerator.stateDict();
  const properties = () => model.modules().map((module) => Object.getOwnPropertyNames(module));
  const before = properties();
  summary(model, [2, 1, 8, 8]);
  expect(() => summary(model, [2, 3, 8, 8])).toThrow('Conv2d: expected 1 channels');
  expect(model.modules().map(({ training }) => training)).toEqual([
    true,
    true,
    false,
    ...Array<boolean>(6).fill(true),
  ]);
  expect(properties()).toEqual(before);
  expect(defaultGenerator.stateDict()).toEqual(random);
  expect([...model.norm.runningMean!.data]).toEqual([0, 0, 0, 0]);
});

test('several inputs, tensors as inputs, outputs in lists and shared parameters', () => {
  expect(summary(new nn.Bilinear(2, 3, 4), [5, 2], [5, 3]).layers[0].outputShape).toEqual([5, 4]);
  const embedding = summary(new nn.Embedding(10, 3), zeros(2, 7, { dtype: 'int64' }));
  expect(embedding.layers[0]).toMatchObject({ outputShape: [2, 7, 3], parameters: 30 });
  expect(summary(new nn.LSTM(4, 6), [5, 2, 4]).layers[0].outputShape).toEqual([5, 2, 6]);
  const shared = new nn.Linear(3, 3);
  expect(summary(new nn.Sequential(shared, shared), [1, 3]).parameters).toBe(12);
  expect(summary(new nn.Linear(2, 2)).layers[0].outputShape).toBeUndefined();
});

test('an input that is no shape is an error', () => {
  // @ts-expect-error a number is no shape
  expect(() => summary(new nn.Linear(2, 2), 2)).toThrow('summary: expected a shape or a tensor as input 0');
  expect(() => summary(tensor([1]) as unknown as nn.Module)).toThrow('summary: expected a Module');
});
