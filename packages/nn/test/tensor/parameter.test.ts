import { expect, test } from 'vitest';
import { nn, Parameter, randn, tensor, zeros } from '../../src/index.ts';
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

test('a parameter of bfloat16 elements is float32, and may be frozen', () => {
  const frozen = new Parameter(zeros(2).bfloat16(), { requiresGrad: false });
  expect([frozen.dtype, frozen.requiresGrad]).toEqual(['float32', false]);
});

test('a parameter of a computed tensor is a leaf with its elements', async () => {
  const noise = randn(4, 5);
  const parameter = new nn.Parameter(noise.mul(0.5));
  expect(parameter.isLeaf).toBe(true);
  expect(parameter.data).toEqual(((await noise.array()) as Float32Array).map((value) => value / 2));
});

test('a parameter of anything else is an error that shows the right call', () => {
  for (const [given, got] of [
    [[[1, 2], [2]], 'got [1, 2] and [2].'],
    [[Float32Array.of(1)], 'got an object of Float32Array'],
    [[tensor([1]).float(), [1]], 'got float32[1] and [1].'],
    [[], 'got nothing'],
  ] as const) {
    const create = () => Reflect.construct(Parameter, given) as unknown;
    expect(create).toThrow('Parameter: expected a tensor, or a Float32Array and its shape');
    expect(create).toThrow(got);
  }
  expect(() => new Parameter(tensor([1]))).toThrow('expected a tensor of floats, got int64[1]');
  expect(() => new Parameter(tensor([0.5]), { grad: true } as never)).toThrow('grad is not an option');
});

test('a linear layer has the sizes of its input and output', () => {
  const { inFeatures, outFeatures } = new nn.Linear(3, 7);
  expect([inFeatures, outFeatures]).toEqual([3, 7]);
});
