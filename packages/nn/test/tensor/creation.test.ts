import { expect, test } from 'vitest';
import {
  arange,
  eye,
  full,
  linspace,
  manualSeed,
  ones,
  onesLike,
  rand,
  randn,
  tensor,
  zeros,
  zerosLike,
  type Tensor,
} from '../../src/index.ts';
import '../support/one-thread.ts';

const written = async (x: Tensor) => ({ dtype: x.dtype, shape: x.shape, elements: [...(await x.array())] });

test('tensors of one number, and ranges', async () => {
  expect(await written(zeros([2, 1]))).toEqual({ dtype: 'float32', shape: [2, 1], elements: [0, 0] });
  expect(await written(ones([2], { dtype: 'int64' }))).toEqual({
    dtype: 'int64',
    shape: [2],
    elements: [1n, 1n],
  });
  expect(await written(full([1, 2], 2.5))).toEqual({
    dtype: 'float32',
    shape: [1, 2],
    elements: [2.5, 2.5],
  });
  expect(await written(full([2], 3, { dtype: 'bool' }))).toEqual({
    dtype: 'bool',
    shape: [2],
    elements: [1, 1],
  });
  expect(await written(zerosLike(tensor([true, false])))).toEqual({
    dtype: 'bool',
    shape: [2],
    elements: [0, 0],
  });
  expect(await written(onesLike(tensor([5, 6])))).toEqual({ dtype: 'int64', shape: [2], elements: [1n, 1n] });
  expect(await written(arange(3))).toEqual({ dtype: 'int64', shape: [3], elements: [0n, 1n, 2n] });
  expect(await written(arange(5, -1, -2))).toEqual({ dtype: 'int64', shape: [3], elements: [5n, 3n, 1n] });
  expect(await written(arange(0, 1, 0.25))).toEqual({
    dtype: 'float32',
    shape: [4],
    elements: [0, 0.25, 0.5, 0.75],
  });
  expect(await written(linspace(-1, 1, 5))).toEqual({
    dtype: 'float32',
    shape: [5],
    elements: [-1, -0.5, 0, 0.5, 1],
  });
  expect(await written(linspace(2, 3, 1))).toEqual({ dtype: 'float32', shape: [1], elements: [2] });
  expect(await written(eye(2, 3))).toEqual({
    dtype: 'float32',
    shape: [2, 3],
    elements: [1, 0, 0, 0, 1, 0],
  });
});

test('random tensors have torch’s numbers after manual_seed(1)', async () => {
  manualSeed(1);
  // torch.rand(3), torch.randn(2, 2)
  const uniform = await rand([3]).array();
  const normal = await randn([2, 2]).array();
  for (const [i, number] of [0.7576315999031067, 0.2793108820915222, 0.40306925773620605].entries()) {
    expect(uniform[i]).toBe(number);
  }
  for (const [i, number] of [
    0.7244127988815308, -0.7022190093994141, 1.166091799736023, 0.26046469807624817,
  ].entries())
    expect(normal[i]).toBeCloseTo(number, 6);
});

test('errors name the wrong arguments', () => {
  expect(() => zeros([2, -1])).toThrow('zeros: expected whole lengths of at least 0, got [2,-1].');
  expect(() => arange(3, 0)).toThrow(
    'arange: expected numbers from start to end in the direction of the step',
  );
  expect(() => linspace(0, 1, 2.5)).toThrow('linspace: expected a whole number of steps, got 2.5.');
});

test.each<[string, (options: never) => unknown]>([
  ['zeros', (options) => zeros([2], options)],
  ['full', (options) => full([2], 1, options)],
  ['arange', (options) => arange(3, options)],
  ['linspace', (options) => linspace(0, 1, 3, options)],
  ['zerosLike', (options) => zerosLike(zeros(2), options)],
  ['tensor', (options) => tensor([1], options)],
])('%s names the dtypes if it gets another one', (name, create) => {
  for (const dtype of ['float64', 7, {}])
    expect(() => create({ dtype } as never)).toThrow(
      new RegExp(`^${name}: (dtype must be|expected) 'float32', 'bfloat16', 'int64' or 'bool', got `),
    );
});
