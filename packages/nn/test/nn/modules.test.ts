import { describe, expect, test } from 'vitest';
import { F, manualSeed, nn, Parameter, tensor, type Tensor } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

const of = (shape: readonly number[], seed = 1): Tensor => tensor(fill(shape, seed), shape);
const names = (module: nn.Module) => [...module.namedParameters()].map(([name]) => name);

describe('a module equals its function with the same options', () => {
  const images = of([2, 3, 6, 5]);
  test.each<[string, nn.Layer, Tensor]>([
    ['ReLU', new nn.ReLU(), F.relu(images)],
    ['LeakyReLU', new nn.LeakyReLU(), F.leakyRelu(images, 0.01)],
    ['LeakyReLU of another slope', new nn.LeakyReLU(0.3), F.leakyRelu(images, 0.3)],
    ['GELU', new nn.GELU(), F.gelu(images)],
    ['GELU by tanh', new nn.GELU({ approximate: 'tanh' }), F.gelu(images, { approximate: 'tanh' })],
    ['SiLU', new nn.SiLU(), F.silu(images)],
    ['Sigmoid', new nn.Sigmoid(), F.sigmoid(images)],
    ['Tanh', new nn.Tanh(), F.tanh(images)],
    ['Softmax', new nn.Softmax(1), F.softmax(images, 1)],
    ['LogSoftmax', new nn.LogSoftmax(-1), F.logSoftmax(images, 3)],
    ['Flatten', new nn.Flatten(), F.flatten(images)],
    ['Flatten of some', new nn.Flatten(0, 2), images.view(36, 5)],
    [
      'MaxPool2d',
      new nn.MaxPool2d(3, { stride: 2, padding: 1 }),
      F.maxPool2d(images, 3, { stride: 2, padding: 1 }),
    ],
    [
      'AvgPool2d',
      new nn.AvgPool2d([3, 2], { stride: 1, padding: [1, 1], countIncludePad: false }),
      F.avgPool2d(images, [3, 2], { stride: 1, padding: [1, 1], countIncludePad: false }),
    ],
    ['AdaptiveAvgPool2d', new nn.AdaptiveAvgPool2d([4, 2]), F.adaptiveAvgPool2d(images, [4, 2])],
  ])('%s', async (_, module, expected) => {
    const output = module.forward(images);
    expect(output.shape).toEqual(expected.shape);
    expect(await output.array()).toEqual(await expected.array());
    expect(names(module)).toEqual([]);
  });
});

describe('LayerNorm', () => {
  test('has a weight of ones and a bias of zeros, and applies them', async () => {
    const norm = new nn.LayerNorm([2, 3]);
    expect(names(norm)).toEqual(['weight', 'bias']);
    expect([...norm.weight!.data, ...norm.bias!.data]).toEqual([1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0]);
    norm.weight!.data.set(fill([6], 3));
    norm.bias!.data.set(fill([6], 4));
    const input = of([4, 2, 3]);
    const expected = F.layerNorm(input, [2, 3], of([2, 3], 3), of([2, 3], 4));
    expect(await norm.forward(input).array()).toEqual(await expected.array());
  });

  test('without a bias has only a weight', () => {
    expect(names(new nn.LayerNorm(3, { bias: false }))).toEqual(['weight']);
    expect(names(new nn.LayerNorm(3, { bias: true, elementwiseAffine: false }))).toEqual([]);
  });

  test('without them only normalizes', async () => {
    const norm = new nn.LayerNorm(5, { elementwiseAffine: false, eps: 0.5 });
    expect(names(norm)).toEqual([]);
    const expected = F.layerNorm(of([3, 5]), [5], undefined, undefined, { eps: 0.5 });
    expect(await norm.forward(of([3, 5])).array()).toEqual(await expected.array());
  });
});

describe('Embedding', () => {
  test('draws a normal table, whose padding row is and stays 0', async () => {
    const table = new nn.Embedding(400, 50, { paddingIdx: -2 });
    const { data } = table.weight;
    expect([...data.subarray(398 * 50, 399 * 50)]).toEqual(Array(50).fill(0));
    const mean = data.reduce((sum, x) => sum + x, 0) / data.length;
    const variance = data.reduce((sum, x) => sum + (x - mean) ** 2, 0) / data.length;
    expect(Math.abs(mean)).toBeLessThan(0.05);
    expect(Math.abs(variance - 1)).toBeLessThan(0.05);

    const output = table.forward(tensor(BigInt64Array.of(398n, 3n, 3n, 398n), [2, 2]));
    expect(output.shape).toEqual([2, 2, 50]);
    await output.sum().backward();
    const { grad } = table.weight;
    expect([grad![398 * 50], grad![3 * 50], grad![4 * 50]]).toEqual([0, 2, 0]);
  });
});

test('sums the gradient of an embedding in input order, bit-identically', async () => {
  const table = new Parameter(new Float32Array(15), [5, 3]);
  const rows = BigInt64Array.from({ length: 400 }, (_, place) => BigInt((7 * place) % 5));
  const weights = fill([400, 3], 5);
  await F.embedding(tensor(rows), table)
    .mul(tensor(weights, [400, 3]))
    .sum()
    .backward();
  const expected = new Float32Array(15);
  for (const [place, weight] of weights.entries()) {
    expected[Number(rows[Math.floor(place / 3)]) * 3 + (place % 3)] += weight;
  }
  expect(table.grad).toEqual(expected);
});

describe('Sequential', () => {
  const make = () =>
    new nn.Sequential(
      new nn.Conv2d(1, 2, 3),
      new nn.ReLU(),
      new nn.Sequential(new nn.Flatten(), new nn.Linear(8, 3)),
    );

  test('applies its layers in order, with parameters drawn in order', async () => {
    manualSeed(3);
    const model = make();
    manualSeed(3);
    const [conv, linear] = [new nn.Conv2d(1, 2, 3), new nn.Linear(8, 3)];
    const images = of([2, 1, 4, 4]);
    const expected = linear.forward(F.flatten(F.relu(conv.forward(images))));
    expect(await model.forward(images).array()).toEqual(await expected.array());
  });

  test("names its layers by position, as in torch's state dict", () => {
    expect(names(make())).toEqual(['0.weight', '0.bias', '2.1.weight', '2.1.bias']);
    expect(make().length).toBe(3);
    expect(make()[1]).toBeInstanceOf(nn.ReLU);
  });

  test('without layers returns its input', () => {
    const input = of([2, 2]);
    expect(new nn.Sequential().forward(input)).toBe(input);
  });
});
