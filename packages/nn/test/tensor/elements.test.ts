import { BFloat16Bits, DataLoader } from 'ringrun';
import { expect, test } from 'vitest';
import { ArgumentError, nn, Parameter, ShapeError, tensor, type ShapedElements } from '../../src/index.ts';
import '../support/one-thread.ts';

const made = async (data: Parameters<typeof tensor>[0], shape?: readonly number[]) => {
  const x = tensor(data, shape);
  return [x.dtype, x.shape, await x.array()] as const;
};

test('a Float32Array or BigInt64Array is used without a copy', async () => {
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

test.each([
  [[[1, 2, 3]], 'int64', [1, 3], BigInt64Array.of(1n, 2n, 3n)],
  [
    [
      [[1], [0.5]],
      [[2], [3]],
    ],
    'float32',
    [2, 2, 1],
    Float32Array.of(1, 0.5, 2, 3),
  ],
  [[[true], [false]], 'bool', [2, 1], Uint8Array.of(1, 0)],
  [[[], []], 'float32', [2, 0], new Float32Array(0)],
  [5, 'int64', [], BigInt64Array.of(5n)],
  [2n ** 60n, 'int64', [], BigInt64Array.of(2n ** 60n)],
  [1.5, 'float32', [], Float32Array.of(1.5)],
  [true, 'bool', [], Uint8Array.of(1)],
])('%o becomes %s of shape %j, as in torch', async (data, dtype, shape, elements) => {
  expect(await made(data)).toEqual([dtype, shape, elements]);
});

test('lists of different lengths are rejected', () => {
  expect(() => tensor([[1, 2], [3]])).toThrow(
    'tensor: expected lists of one shape, got [2] at 0 and [1] at 1 of a list of 2.',
  );
  expect(() => tensor([[1], 2])).toThrow('got [1] at 0 and [] at 1 of a list of 2.');
});

test.each([
  [[1, 2], 'float32', Float32Array.of(1, 2)],
  [[-1.7, 2.5], 'int64', BigInt64Array.of(-1n, 2n)],
  [Float32Array.of(0, 0.5, NaN), 'bool', Uint8Array.of(0, 1, 1)],
  [[1.001, 3], 'bfloat16', Float32Array.of(1, 3)],
  [Int32Array.of(7), 'int64', BigInt64Array.of(7n)],
  [Uint8Array.of(0, 255), 'float32', Float32Array.of(0, 255)],
  [Int32Array.of(-(2 ** 31), 2 ** 24 + 1), 'float32', Float32Array.of(-(2 ** 31), 2 ** 24)],
  [BigUint64Array.of(2n ** 60n), 'float32', Float32Array.of(2 ** 60)],
] as const)('%o with dtype %s is converted, with and without a shape', async (data, dtype, elements) => {
  for (const x of [tensor(data, { dtype }), tensor(data, [data.length], { dtype })]) {
    expect([x.dtype, x.shape]).toEqual([dtype, [data.length]]);
    expect(await x.array()).toEqual(elements);
  }
  expect(tensor({ data, shape: [1, data.length] }, { dtype }).shape).toEqual([1, data.length]);
});

test('options are checked, also as the second argument', () => {
  expect(() => tensor([1], { dytpe: 'float32' } as never)).toThrow('dytpe');
  expect(() => tensor([1], { dtype: 'float64' } as never)).toThrow('float64');
  expect(() => tensor([NaN], { dtype: 'int64' })).toThrow(ArgumentError);
  expect(tensor([1.5], { requiresGrad: true }).requiresGrad).toBe(true);
});

test('a copy is unaffected by later writes to the given array', async () => {
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

test('rejects other elements, and names the accepted types', () => {
  const accepted =
    /^tensor: the elements must be a typed array, a number, bigint or boolean, or lists of these, got /;
  for (const [data, got] of [
    ['12', 'got 12.'],
    [undefined, 'got undefined.'],
    [new DataView(new ArrayBuffer(8)), 'got an object of DataView.'],
    [{ data: [1] }, 'got an object of Object.'],
    [[1, '2'], 'got a list with 2.'],
    [[1, undefined], 'got a list with undefined.'],
    [[[1, '2']], 'got a list with 2.'],
    [[Float32Array.of(1)], 'got a list with an object of Float32Array.'],
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

test('a batch of a DataLoader is a tensor of its shape, without a copy', async () => {
  const dataset = { length: 4, at: (i: number) => [[Float32Array.of(i, 2 * i), BigInt(i)]] as const };
  for await (const [[points, labels]] of new DataLoader(dataset, { batchSize: 4 })) {
    const x = tensor(points);
    expect([x.dtype, x.shape]).toEqual(['float32', [4, 2]]);
    points.data[0] = 9;
    expect(await x.array()).toEqual(Float32Array.of(9, 0, 1, 2, 2, 4, 3, 6));
    expect([tensor(labels).dtype, tensor(labels).shape]).toEqual(['int64', [4]]);
  }
});

test('an entry of a state dict, with 16-bit elements too, is a tensor', async () => {
  const { weight } = Object.fromEntries(new nn.Linear(2, 3).stateDict());
  expect(tensor(weight).shape).toEqual([3, 2]);
  const half = tensor({ data: BFloat16Bits.of(0x3fc0), shape: [1, 1], mask: 'left out' } as ShapedElements);
  expect([half.shape, await half.array()]).toEqual([[1, 1], Float32Array.of(1.5)]);
  expect(tensor({ data: [1, 2], shape: [] as number[] }.data).shape).toEqual([2]);
});

test('rejects two shapes, a wrong number of elements, and a tensor', () => {
  const elements = { data: Float32Array.of(1, 2), shape: [2] };
  expect(() => tensor(elements as never, [1, 2])).toThrow(
    'tensor: expected one shape, got [2] of the elements and [1,2].',
  );
  expect(() => tensor({ ...elements, shape: [3] })).toThrow(ShapeError);
  expect(() => tensor(tensor([1]) as never)).toThrow('got an object of Tensor');
  expect(() => tensor({ data: Float32Array.of(1) } as never)).toThrow('got an object of Object');
});
