import { describe, expect, test } from 'vitest';

import type { NativeTensor } from '@ringrun/native';
import { loadNative, nativeDType, nativeReduceOp } from '@ringrun/native';

const native = loadNative();

type Op = keyof typeof nativeReduceOp;
type DType = keyof typeof nativeDType;

/** Elements as the naive reference computes with them: numbers for floating point, BigInt for every integer. */
interface Reference {
  make: (length: number) => NativeTensor;
  /** Element `i` of an input: irregular, over the whole range of the dtype. */
  term: (random: number, i: number) => number | bigint;
  combine: Partial<Record<Op, (left: never, right: never) => number | bigint>>;
}

/** Sums and products round at every step, so only the right order of operations gives the right bytes. */
function floatingPoint(make: Reference['make'], round: (value: number) => number): Reference {
  return {
    make,
    // Of very different sizes, with a NaN here and there.
    term: (random, i) => (random % 41 === 0 ? NaN : round((random / 2 ** 32 - 0.5) * 10 ** (i % 9))),
    combine: {
      SUM: (left: number, right: number) => round(left + right),
      AVG: (left: number, right: number) => round(left + right),
      PRODUCT: (left: number, right: number) => round(left * right),
      MIN: (left: number, right: number) => Math.min(left, right),
      MAX: (left: number, right: number) => Math.max(left, right),
    },
  };
}

function integers(make: Reference['make'], wrap: (value: bigint) => bigint): Reference {
  return {
    make,
    term: (random, i) => wrap(BigInt(random) * 0x9e3779b97f4a7c15n + BigInt(i)),
    combine: {
      SUM: (left: bigint, right: bigint) => wrap(left + right),
      PRODUCT: (left: bigint, right: bigint) => wrap(left * right),
      MIN: (left: bigint, right: bigint) => (right < left ? right : left),
      MAX: (left: bigint, right: bigint) => (right > left ? right : left),
      BAND: (left: bigint, right: bigint) => left & right,
      BOR: (left: bigint, right: bigint) => left | right,
      BXOR: (left: bigint, right: bigint) => left ^ right,
    },
  };
}

const references: Partial<Record<DType, Reference>> = {
  float32: floatingPoint((length) => new Float32Array(length), Math.fround),
  float64: floatingPoint(
    (length) => new Float64Array(length),
    (value) => value,
  ),
  int8: integers(
    (length) => new Int8Array(length),
    (value) => BigInt.asIntN(8, value),
  ),
  uint8: integers(
    (length) => new Uint8Array(length),
    (value) => BigInt.asUintN(8, value),
  ),
  int32: integers(
    (length) => new Int32Array(length),
    (value) => BigInt.asIntN(32, value),
  ),
  uint32: integers(
    (length) => new Uint32Array(length),
    (value) => BigInt.asUintN(32, value),
  ),
  int64: integers(
    (length) => new BigInt64Array(length),
    (value) => BigInt.asIntN(64, value),
  ),
  uint64: integers(
    (length) => new BigUint64Array(length),
    (value) => BigInt.asUintN(64, value),
  ),
};

function fill(array: NativeTensor, { term }: Reference, seed: number): NativeTensor {
  let state = seed;
  for (let i = 0; i < array.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const value = term(state, i);
    array[i] = array instanceof BigInt64Array || array instanceof BigUint64Array ? value : Number(value);
  }
  return array;
}

/** Element by element, in the order of the inputs. */
function reduced(
  reference: Reference,
  op: Op,
  inputs: readonly NativeTensor[],
  divisor: number,
): (number | bigint)[] {
  const combine = reference.combine[op] as (left: unknown, right: unknown) => number | bigint;
  const isFloating = inputs[0] instanceof Float32Array || inputs[0] instanceof Float64Array;
  return Array.from<number | bigint, number | bigint>(inputs[0], (_, i) => {
    const terms = inputs.map((input) => (isFloating ? input[i] : BigInt(input[i])));
    const result = terms.reduce(combine);
    if (!isFloating) return result;
    return inputs[0] instanceof Float32Array
      ? Math.fround(Number(result) / divisor)
      : Number(result) / divisor;
  });
}

/** Throws at the first element that is not the expected one, where NaN equals NaN and −0 differs from 0. */
function expectElements(array: NativeTensor, expected: readonly (number | bigint)[], what: string): void {
  expect(array.length).toBe(expected.length);
  for (let i = 0; i < array.length; i++) {
    const element = typeof expected[i] === 'bigint' ? BigInt(array[i]) : array[i];
    if (!Object.is(element, expected[i])) {
      expect.fail(`${what}: element ${i} is ${String(array[i])}, expected ${String(expected[i])}`);
    }
  }
}

const shapes = [1, 2, 3, 4, 7].flatMap((inputs) => [1, 2, inputs].map((outputs) => ({ inputs, outputs })));
const lengths = [0, 1, 3, 15, 16, 17, 63, 65, 131];
const cases = (Object.entries(references) as [DType, Reference][]).flatMap(([dtype, reference]) =>
  (Object.keys(reference.combine) as Op[]).map((op) => ({ dtype, op, reference })),
);

describe.each(native.kernelNames())('kernel %s', (kernel) => {
  test.each(cases)('$op of $dtype is exactly what plain arithmetic gives', ({ dtype, op, reference }) => {
    const divisor = op === 'AVG' ? 3 : 1;
    for (const { inputs: inputCount, outputs: outputCount } of shapes) {
      for (const length of lengths) {
        const inputs = Array.from({ length: inputCount }, (_, i) =>
          fill(reference.make(length), reference, i + 1),
        );
        const expected = reduced(reference, op, inputs, divisor);
        const outputs = Array.from({ length: outputCount }, () => reference.make(length));
        native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], inputs, outputs, divisor);
        for (const output of outputs) {
          expectElements(output, expected, `${inputCount} inputs, ${outputCount} outputs, length ${length}`);
        }
      }
    }
  });

  test.each(cases)(
    '$op of $dtype may write over its inputs, at any alignment',
    ({ dtype, op, reference }) => {
      const memory = Array.from({ length: 3 }, (_, i) => fill(reference.make(104), reference, i + 1));
      const slices = memory.map((array) => array.subarray(1, 102));
      const expected = reduced(reference, op, slices, 1);
      const outside = memory.map((array) => [array[0], array[102], array[103]]);
      native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], slices, slices, 1);
      for (const slice of slices) expectElements(slice, expected, 'in place');
      expect(memory.map((array) => [array[0], array[102], array[103]])).toEqual(outside);
    },
  );

  test.each([
    ['AVG', 'int32', new Int32Array(1)],
    ['BAND', 'float32', new Float32Array(1)],
  ] as const)('has no %s of %s', (op, dtype, array) => {
    expect(() => {
      native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], [array, array], [array], 2);
    }).toThrow(/no kernel/);
  });
});

test.each([
  [new Float64Array(1), nativeDType.float32, /elements of 8 bytes, expected .* 4 bytes/],
  [new Int16Array(1), nativeDType.uint8, /elements of 2 bytes, expected .* 1 bytes/],
  [new DataView(new ArrayBuffer(8)), nativeDType.float64, /no typed array, expected .* 8 bytes/],
  [[1], nativeDType.int8, /no typed array/],
  [new Float32Array(1), 0, /dtype is 0, expected one of nativeDType: a number from 1 to 10/],
  [new Float32Array(1), 257, /dtype is 257/],
  [new Float32Array(1), undefined, /dtype is undefined/],
])('%o is refused where the dtype is %s', (array, dtype, message) => {
  const tensor = array as NativeTensor;
  const reduce = () => {
    native.reduceWith('plain', dtype as number, nativeReduceOp.SUM, [tensor], [tensor], 1);
  };
  expect(reduce).toThrow(TypeError);
  expect(reduce).toThrow(message);
});

test('the slowest kernel is plain C++', () => {
  expect(native.kernelNames().at(-1)).toBe('plain');
});
