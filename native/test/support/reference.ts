import { expect } from 'vitest';

import type { NativeFloat16Array, NativeTensor, nativeDType, nativeReduceOp } from '@ringrun/native';

import type { Format16 } from '../formats16.ts';
import { bfloat16, bitsOf, float16, valueOf } from '../formats16.ts';

export type Op = keyof typeof nativeReduceOp;
export type DType = keyof typeof nativeDType;

/**
 * Typed arrays whose elements can be set from numbers: all except Float16Array, which Node 20 lacks.
 */
export type Elements = Exclude<NativeTensor, NativeFloat16Array>;

/** Elements in the naive reference: numbers for floating point, BigInt for every integer. */
export interface Reference {
  make: (length: number) => Elements;
  /** Element `i` of an input: irregular, over the whole range of the dtype. */
  term: (random: number, i: number) => number | bigint;
  /** Converts between array elements and the numbers of the reference. */
  load: (element: number | bigint) => number | bigint;
  store: (value: number | bigint) => number | bigint;
  combine: Partial<Record<Op, (left: never, right: never) => number | bigint>>;
  divide: (value: number | bigint, divisor: number) => number | bigint;
}

/** Sums and products round at every step, so only the correct order of operations produces the correct bytes. */
function floatingPoint(make: Reference['make'], round: (value: number) => number): Reference {
  return {
    make,
    // Of very different sizes, with occasional NaNs.
    term: (random, i) => (random % 41 === 0 ? NaN : round((random / 2 ** 32 - 0.5) * 10 ** (i % 9))),
    load: (element) => element,
    store: (value) => value,
    combine: {
      SUM: (left: number, right: number) => round(left + right),
      AVG: (left: number, right: number) => round(left + right),
      PRODUCT: (left: number, right: number) => round(left * right),
      MIN: (left: number, right: number) => (right < left || Number.isNaN(right) ? right : left),
      MAX: (left: number, right: number) => (right > left || Number.isNaN(right) ? right : left),
    },
    divide: (value, divisor) => round(Number(value) / divisor),
  };
}

/** Computed in float32 and rounded when stored. From subnormal float16 to sums and products that overflow. */
function sixteenBits(format: Format16): Reference {
  return {
    ...floatingPoint((length) => new Uint16Array(length), Math.fround),
    term: (random, i) => (random % 41 === 0 ? NaN : (random / 2 ** 32 - 0.5) * 10 ** ((i % 12) - 6)),
    load: (element) => valueOf(format, Number(element)),
    store: (value) => bitsOf(format, Number(value)),
  };
}

function integers(make: Reference['make'], wrap: (value: bigint) => bigint): Reference {
  const isOf64Bits = make(0).BYTES_PER_ELEMENT === 8;
  return {
    make,
    load: BigInt,
    store: (value) => (isOf64Bits ? value : Number(value)),
    divide: (value) => value,
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

export const references: Record<DType, Reference> = {
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
  float16: sixteenBits(float16),
  bfloat16: sixteenBits(bfloat16),
};

export function fill(array: Elements, { term, store }: Reference, seed: number): Elements {
  let state = seed;
  for (let i = 0; i < array.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    array[i] = store(term(state, i));
  }
  return array;
}

/** Element by element, in the order of the inputs. */
export function reduced(
  reference: Reference,
  op: Op,
  inputs: readonly Elements[],
  divisor: number,
): (number | bigint)[] {
  const { load, store, divide } = reference;
  const combine = reference.combine[op] as (left: unknown, right: unknown) => number | bigint;
  return Array.from<number | bigint, number | bigint>(inputs[0], (_, i) => {
    const result = inputs.map((input) => load(input[i])).reduce(combine);
    return load(store(divide(result, divisor)));
  });
}

/** Throws at the first element that differs. NaN equals NaN, and −0 differs from 0. */
export function expectElements(
  { load }: Reference,
  array: Elements,
  expected: readonly (number | bigint)[],
  what: string,
): void {
  expect(array.length).toBe(expected.length);
  for (let i = 0; i < array.length; i++) {
    const element = load(array[i]);
    if (!Object.is(element, expected[i])) {
      expect.fail(`${what}: element ${i} is ${String(element)}, expected ${String(expected[i])}`);
    }
  }
}
