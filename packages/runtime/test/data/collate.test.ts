import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { defaultCollate } from '../../src/data/collate.ts';
import type { Batched } from '../../src/data/collate.ts';
import type { ShapedArray } from '../../src/data/shaped-array.ts';

describe('collates', () => {
  test('fractions, NaN and unsafe integers to float64', () => {
    const batch = defaultCollate([1, 0.1, 2 ** 53 - 1]);
    expect(batch).toEqual({ data: Float64Array.of(1, 0.1, 2 ** 53 - 1), shape: [3] });
    expectTypeOf(batch).toEqualTypeOf<Batched<BigInt64Array | Float64Array>>();
    expect(defaultCollate([1, NaN]).data).toEqual(Float64Array.of(1, NaN));
    expect(defaultCollate([1, 2 ** 53]).data).toEqual(Float64Array.of(1, 2 ** 53));
  });

  test('integers to int64', () => {
    const batch = defaultCollate([3, -1, 2 ** 53 - 1]);
    expect(batch).toEqual({ data: BigInt64Array.of(3n, -1n, 2n ** 53n - 1n), shape: [3] });
  });

  test('bigints', () => {
    expect(defaultCollate([1n, -2n])).toEqual({ data: BigInt64Array.of(1n, -2n), shape: [2] });
  });

  test('strings', () => {
    expect(defaultCollate(['a', 'b'])).toEqual(['a', 'b']);
  });

  test.each([
    [Float32Array.of(1, 2), Float32Array.of(3, 4), Float32Array.of(1, 2, 3, 4)],
    [Uint8Array.of(1, 2), Uint8Array.of(3, 4), Uint8Array.of(1, 2, 3, 4)],
    [Buffer.of(1, 2), Buffer.of(3, 4), Uint8Array.of(1, 2, 3, 4)],
    [BigInt64Array.of(1n, 2n), BigInt64Array.of(3n, 4n), BigInt64Array.of(1n, 2n, 3n, 4n)],
  ])('typed arrays: %s', (first, second, data) => {
    const batch = defaultCollate([first, second]);
    expect(batch).toEqual({ data, shape: [2, 2] });
    expect(Object.getPrototypeOf(batch.data)).toBe(Object.getPrototypeOf(data));
  });

  test('typed arrays of no elements', () => {
    expect(defaultCollate([new Float32Array(0)])).toEqual({ data: new Float32Array(0), shape: [1, 0] });
  });

  test('arrays with a shape, and keeps the shape', () => {
    const image = (from: number): ShapedArray<Float32Array> => ({
      data: Float32Array.of(from, from + 1),
      shape: [1, 2, 1],
    });
    const batch = defaultCollate([image(1), image(3), image(5)]);
    expect(batch).toEqual({ data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [3, 1, 2, 1] });
    expectTypeOf(batch).toEqualTypeOf<Batched<Float32Array>>();
  });

  test('objects and tuples, with nested values', () => {
    type Sample = { image: Float32Array; at: [x: number, name: string] };
    const samples: Sample[] = [
      { image: Float32Array.of(1), at: [5, 'a'] },
      { image: Float32Array.of(2), at: [6, 'b'] },
    ];
    const batch = defaultCollate(samples);
    expect(batch).toEqual({
      image: { data: Float32Array.of(1, 2), shape: [2, 1] },
      at: [{ data: BigInt64Array.of(5n, 6n), shape: [2] }, ['a', 'b']],
    });
    expectTypeOf(batch.at).toEqualTypeOf<[x: Batched<BigInt64Array | Float64Array>, name: string[]]>();
  });

  test('into separate memory', () => {
    const sample = Float32Array.of(1, 2);
    defaultCollate([sample]).data.fill(9);
    expect([...sample]).toEqual([1, 2]);
  });

  test('views of one array into that array, if the batch adopts it', () => {
    const whole = Float32Array.of(1, 2, 3, 4);
    const parts = [whole.subarray(0, 2), whole.subarray(2)];
    const adopted = defaultCollate(parts, { adopt: true });
    expect(adopted.data.buffer).toBe(whole.buffer);
    expect(adopted).toEqual({ data: whole, shape: [2, 2] });
    expect(defaultCollate(parts).data.buffer).not.toBe(whole.buffer);
    expect([...defaultCollate(parts.toReversed(), { adopt: true }).data]).toEqual([3, 4, 1, 2]);
    expect([...defaultCollate(parts.slice(0, 1), { adopt: true }).data]).toEqual([1, 2]);
  });
});

describe('names the field and both sides if samples differ in', () => {
  test.each([
    [
      'lengths',
      [{ x: new Float32Array(4) }, { x: new Float32Array(3) }],
      'sample.x',
      'of 4 elements',
      'of 3 elements',
    ],
    ['element types', [new Float32Array(2), new Int32Array(2)], 'sample', 'a Float32Array', 'a Int32Array'],
    [
      'kinds',
      [
        [1, 2],
        [1, 'b'],
      ],
      'sample[1]',
      'a number',
      'a string',
    ],
    ['list lengths', [[1, 2], [1]], 'sample', 'a list of 2', 'a list of 1'],
    ['a missing field', [{ x: 1 }, {}], 'sample.x', 'a number', 'undefined'],
    ['null', [{ x: 1 }, null], 'sample', 'an object (Object)', 'null'],
    ['numbers and bigints', [1, 1n], 'sample', 'a number', 'a bigint'],
    [
      'shapes',
      [
        { data: new Float32Array(4), shape: [2, 2] },
        { data: new Float32Array(4), shape: [4, 1] },
      ],
      'sample',
      'shape [2,2]',
      'shape [4,1] with 4 elements',
    ],
    [
      'shape and elements',
      [{ data: new Float32Array(3), shape: [2, 2] }],
      'sample',
      'shape [2,2]',
      'with 3 elements',
    ],
  ])('%s', (_, samples: unknown[], field, expected, got) => {
    expect(() => defaultCollate(samples)).toThrow(InvalidArgumentError);
    expect(() => defaultCollate(samples)).toThrow(`DataLoader: ${field} is `);
    expect(() => defaultCollate(samples)).toThrow(expected);
    expect(() => defaultCollate(samples)).toThrow(got);
  });
});

test.each([
  ['a Map', new Map(), 'sample is an object (Map)'],
  ['a Date inside', { when: new Date(0) }, 'sample.when is an object (Date)'],
  ['undefined', undefined, 'sample is undefined'],
  ['a boolean', true, 'sample is a boolean'],
])('rejects %s with a remedy', (_, sample, message) => {
  expect(() => defaultCollate([sample])).toThrow(InvalidArgumentError);
  expect(() => defaultCollate([sample])).toThrow(message);
  expect(() => defaultCollate([sample])).toThrow('pass DataLoader a `collateFn`');
});

test('rejects an empty list of samples', () => {
  expect(() => defaultCollate([])).toThrow('a batch needs at least 1 sample, got 0');
});

describe('dtypes', () => {
  test('name the element types of numbers, bigints and booleans', () => {
    const dtypes = { x: 'float32', y: 'int64', z: 'int32', w: 'float64' } as const;
    const samples = [
      { x: 1, y: 5n, z: true, w: 1n, other: 1 },
      { x: 2, y: 6, z: false, w: 2, other: 2 },
    ];
    expect(defaultCollate(samples, { dtypes })).toEqual({
      x: { data: Float32Array.of(1, 2), shape: [2] },
      y: { data: BigInt64Array.of(5n, 6n), shape: [2] },
      z: { data: Int32Array.of(1, 0), shape: [2] },
      w: { data: Float64Array.of(1, 2), shape: [2] },
      other: { data: BigInt64Array.of(1n, 2n), shape: [2] },
    });
  });

  test.each([
    ['int64', 0.5],
    ['int64', 2 ** 53],
    ['int64', 2n ** 63n],
    ['int32', 2 ** 31],
  ] as const)('%s with %s is refused', (x, value) => {
    const collating = () => defaultCollate([{ x: 1 }, { x: value }], { dtypes: { x } });
    expect(collating).toThrow(`sample.x is declared as ${x}, and is ${value} in sample 1`);
  });

  test('with a missing value names the field and the sample', () => {
    const collating = () => defaultCollate([{ x: 1 }, { x: null }], { dtypes: { x: 'float32' } });
    expect(collating).toThrow("sample.x is a number in the batch's first sample and null in sample 1");
  });
});
