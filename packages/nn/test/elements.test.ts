import { BFloat16Bits } from 'ringrun';
import { expect, test } from 'vitest';
import { ArgumentError, Parameter, ShapeError, tensor } from '../src/index.ts';
import './one-thread.ts';

const made = async (data: Parameters<typeof tensor>[0], shape?: readonly number[]) => {
  const x = tensor(data, shape);
  return [x.dtype, x.shape, await x.array()] as const;
};

test('a Float32Array and a BigInt64Array are the tensor’s own, without a copy', async () => {
  for (const array of [Float32Array.of(1, 2), BigInt64Array.of(1n, 2n)]) {
    const x = tensor(array);
    array[1] = array[0];
    expect(await x.array()).toEqual(array);
  }
});

test.each([
  [Float64Array.of(0.1, 2), 'float32', Float32Array.of(0.1, 2)],
  [BFloat16Bits.of(0x3fc0), 'float32', Float32Array.of(1.5)],
  [Int8Array.of(-1, 2), 'int64', BigInt64Array.of(-1n, 2n)],
  [Buffer.of(255), 'int64', BigInt64Array.of(255n)],
  [Uint8ClampedArray.of(7), 'int64', BigInt64Array.of(7n)],
  [Int16Array.of(-7), 'int64', BigInt64Array.of(-7n)],
  [Uint32Array.of(2 ** 32 - 1), 'int64', BigInt64Array.of(2n ** 32n - 1n)],
  [BigUint64Array.of(3n), 'int64', BigInt64Array.of(3n)],
  [[1, 2], 'int64', BigInt64Array.of(1n, 2n)],
  [[1n, true, 3], 'int64', BigInt64Array.of(1n, 1n, 3n)],
  [[1, 0.5], 'float32', Float32Array.of(1, 0.5)],
  [[1n, NaN, false], 'float32', Float32Array.of(1, NaN, 0)],
  [[2 ** 53, -(2 ** 63)], 'int64', BigInt64Array.of(2n ** 53n, -(2n ** 63n))],
  [[1, 2 ** 63], 'float32', Float32Array.of(1, 2 ** 63)],
  [[true, false], 'bool', Uint8Array.of(1, 0)],
  [[], 'float32', new Float32Array(0)],
])('%o becomes %s, in a copy', async (data, dtype, elements) => {
  expect(await made(data)).toEqual([dtype, [elements.length], elements]);
});

test('a copy is what was given, whatever is written to the given array later', async () => {
  const array = Float64Array.of(1, 2);
  const x = tensor(array, [2, 1]);
  array.fill(9);
  expect(await x.mul(2).array()).toEqual(Float32Array.of(2, 4));
});

test('a list of fractions multiplies a parameter', async () => {
  const weight = new Parameter(Float32Array.of(1, 2), [2]);
  await weight
    .mul(tensor([0.5, 1]))
    .sum()
    .backward();
  expect(weight.grad).toEqual(Float32Array.of(0.5, 1));
});

test('other elements are refused with those that are accepted', () => {
  const accepted =
    /^tensor: the elements must be a typed array, or a list of numbers, bigints or booleans, got /;
  for (const [data, got] of [
    [5, 'got 5.'],
    ['12', 'got 12.'],
    [undefined, 'got undefined.'],
    [new DataView(new ArrayBuffer(8)), 'got an object of DataView.'],
    [{ data: [1], shape: [1] }, 'got an object of Object.'],
    [[1, '2'], 'got a list with 2.'],
    [[1, undefined], 'got a list with undefined.'],
    [[[1, 2]], 'got a list of lists; flatten it and give the shape.'],
  ] as [never, string][]) {
    expect(() => tensor(data)).toThrow(ArgumentError);
    expect(() => tensor(data)).toThrow(accepted);
    expect(() => tensor(data)).toThrow(got);
  }
  expect(() => tensor(BigUint64Array.of(2n ** 63n))).toThrow(
    'from -2^63 to 2^63 - 1, got 9223372036854775808',
  );
  expect(() => tensor([1, 2], [3])).toThrow(ShapeError);
});
