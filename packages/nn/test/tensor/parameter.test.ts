import { expect, test } from 'vitest';
import { arange, nn, Parameter, randn, zeros } from '../../src/index.ts';
import '../support/one-thread.ts';

test('a parameter of a tensor has a copy of its elements and its shape', async () => {
  const first = zeros(2, 3);
  const parameter = new Parameter(first);
  parameter.data.fill(5);
  expect(parameter.shape).toEqual([2, 3]);
  expect(await first.sum().item()).toBe(0);
  await parameter.square().sum().backward();
  expect(parameter.grad).toEqual(new Float32Array(6).fill(10));
});

test('a parameter of a computed tensor is a leaf with its elements', async () => {
  const noise = randn(4, 5);
  const parameter = new nn.Parameter(noise.mul(0.5));
  expect(parameter.isLeaf).toBe(true);
  expect(parameter.data).toEqual((await noise.array()).map((value) => Number(value) / 2));
});

test.each<[string, unknown[], string]>([
  ['an int64 tensor', [arange(3)], 'got int64[3]. Write new Parameter(zeros(2, 3))'],
  ['a tensor with another shape', [zeros(6), [2, 3]], 'got float32[6] and '],
  ['an array without a shape', [new Float32Array(6)], 'expected a float32 tensor, or a Float32Array and its'],
])('%s is refused with the right call', (_, given, message) => {
  const create = () => new (Parameter as new (...given: unknown[]) => Parameter)(...given);
  expect(create).toThrow(message);
});

test('a linear layer has the sizes of its input and output', () => {
  const { inFeatures, outFeatures } = new nn.Linear(3, 7);
  expect([inFeatures, outFeatures]).toEqual([3, 7]);
});
