import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import type { NativeFloat16Array, NativeTensor } from '@ringrun/native';
import { loadNative, nativeDType, nativeReduceOp } from '@ringrun/native';

import type { Format16 } from './formats16.ts';
import { bfloat16, bitsOf, float16, valueOf } from './formats16.ts';

const native = loadNative();

type Op = keyof typeof nativeReduceOp;
type DType = keyof typeof nativeDType;

/**
 * Typed arrays whose elements can be set from numbers here: all but those of the language that Node 20 does not have.
 */
type Elements = Exclude<NativeTensor, NativeFloat16Array>;

/** Elements as the naive reference computes with them: numbers for floating point, BigInt for every integer. */
interface Reference {
  make: (length: number) => Elements;
  /** Element `i` of an input: irregular, over the whole range of the dtype. */
  term: (random: number, i: number) => number | bigint;
  /** Converts between array elements and the numbers of the reference. */
  load: (element: number | bigint) => number | bigint;
  store: (value: number | bigint) => number | bigint;
  combine: Partial<Record<Op, (left: never, right: never) => number | bigint>>;
  divide: (value: number | bigint, divisor: number) => number | bigint;
}

/** Sums and products round at every step, so only the right order of operations gives the right bytes. */
function floatingPoint(make: Reference['make'], round: (value: number) => number): Reference {
  return {
    make,
    // Of very different sizes, with a NaN here and there.
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

const references: Record<DType, Reference> = {
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

function fill(array: Elements, { term, store }: Reference, seed: number): Elements {
  let state = seed;
  for (let i = 0; i < array.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    array[i] = store(term(state, i));
  }
  return array;
}

/** Element by element, in the order of the inputs. */
function reduced(
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
function expectElements(
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

const shapes = [1, 2, 3, 4, 7].flatMap((inputs) => [1, 2, inputs].map((outputs) => ({ inputs, outputs })));
const lengths = [0, 1, 3, 15, 16, 17, 63, 65, 131];
const cases = (Object.entries(references) as [DType, Reference][]).flatMap(([dtype, reference]) =>
  (Object.keys(reference.combine) as Op[]).map((op) => ({ dtype, op, reference })),
);

describe.each(native.kernelNames())('kernel %s', (kernel) => {
  test.each(cases)('$op of $dtype equals plain arithmetic exactly', ({ dtype, op, reference }) => {
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
          expectElements(
            reference,
            output,
            expected,
            `${inputCount} inputs, ${outputCount} outputs, length ${length}`,
          );
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
      for (const slice of slices) expectElements(reference, slice, expected, 'in place');
      expect(memory.map((array) => [array[0], array[102], array[103]])).toEqual(outside);
    },
  );

  const casesOf16Bits = cases.filter(({ dtype }) => dtype === 'float16' || dtype === 'bfloat16');

  test.each(casesOf16Bits)(
    '$op of $dtype is the same in every block, in place too',
    ({ dtype, op, reference }) => {
      const inputs = [1, 2, 3].map((seed) => fill(reference.make(4 * 512 + 37), reference, seed));
      const expected = reduced(reference, op, inputs, 1);
      native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], inputs, inputs, 1);
      for (const input of inputs) expectElements(reference, input, expected, 'several blocks');
    },
  );

  test.each([
    ['AVG', 'int32', new Int32Array(1)],
    ['BAND', 'float32', new Float32Array(1)],
    ['BXOR', 'bfloat16', new Uint16Array(1)],
  ] as const)('has no %s of %s', (op, dtype, array) => {
    expect(() => {
      native.reduceWith(kernel, nativeDType[dtype], nativeReduceOp[op], [array, array], [array], 2);
    }).toThrow(/does not support this op/);
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

test.runIf(process.platform === 'linux' && process.arch === 'x64')(
  'every instruction set that Linux reports has its kernels',
  () => {
    const flags = new Set(/^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))![1].split(' '));
    const needed = {
      avx512: ['avx512f', 'avx512bw', 'avx512dq'],
      avx2: ['avx2', 'f16c'],
      sse2: [],
      plain: [],
    };
    const expected = Object.entries(needed).filter(([, names]) => names.every((name) => flags.has(name)));
    expect(native.kernelNames()).toEqual(expected.map(([name]) => name));
  },
);

/** NaNs of both signs, quiet and signalling, with payloads, and operations that make NaNs from numbers. */
const floatingPoints = {
  float32: {
    bits: [0x7fc00000, 0xffc00000, 0x7f800001, 0xff812345, 0x7fc12345, 0xffffffff],
    numbers: [0x7f800000, 0xff800000, 0, 0x3f800000], // ∞, −∞, 0, 1
    quiet: 0x7fc00000,
    make: (bits: number[]) => new Float32Array(Uint32Array.from(bits).buffer),
    bitsOf: (array: Elements) => [...new Uint32Array(array.buffer)],
  },
  float64: {
    bits: [0x7ff8, 0xfff8, 0x7ff0_0001, 0xfff1_2345, 0x7ff8_1234, 0xffff_ffff].map(asHighBits),
    numbers: [0x7ff0, 0xfff0, 0, 0x3ff0].map(asHighBits),
    quiet: asHighBits(0x7ff8),
    make: (bits: number[]) =>
      new Float64Array(BigUint64Array.from(bits, (high) => BigInt(high) << 32n).buffer),
    bitsOf: (array: Elements) =>
      [...new BigUint64Array(array.buffer)].map(
        (bits) => Number(bits >> 32n) + (bits & 0xffffffffn ? 0.5 : 0),
      ),
  },
  float16: {
    bits: [0x7e00, 0xfe00, 0x7c01, 0xfd23, 0x7e45, 0xffff],
    numbers: [0x7c00, 0xfc00, 0, 0x3c00],
    quiet: 0x7e00,
    make: (bits: number[]) => Uint16Array.from(bits),
    bitsOf: (array: Elements) => [...(array as Uint16Array)],
  },
  bfloat16: {
    bits: [0x7fc0, 0xffc0, 0x7f81, 0xff92, 0x7fe5, 0xffff],
    numbers: [0x7f80, 0xff80, 0, 0x3f80],
    quiet: 0x7fc0,
    make: (bits: number[]) => Uint16Array.from(bits),
    bitsOf: (array: Elements) => [...(array as Uint16Array)],
  },
};

/** The upper half of a float64 from its upper 16 or 32 bits. */
function asHighBits(bits: number): number {
  return bits <= 0xffff ? bits * 0x10000 : bits;
}

describe.each(Object.entries(floatingPoints))(
  'a NaN in a reduction of %s',
  (dtype, { bits, numbers, quiet, make, bitsOf }) => {
    const terms = [...bits, ...numbers];
    // Every pair that has a NaN as its result: in whole vectors, and in the elements after them.
    const isNaNs = (op: string, left: number, right: number) =>
      bits.includes(left) ||
      bits.includes(right) ||
      (op === 'SUM' && numbers.indexOf(left) + numbers.indexOf(right) === 1);

    test.each(['SUM', 'AVG', 'PRODUCT', 'MIN', 'MAX'] as const)(
      'has the same bits with every kernel: %s',
      (op) => {
        const pairs = terms
          .flatMap((left) => terms.map((right) => [left, right] as const))
          .filter(([left, right]) => isNaNs(op, left, right));
        const inputs = [make(pairs.map(([left]) => left)), make(pairs.map(([, right]) => right))];
        for (const kernel of native.kernelNames()) {
          const output = make(pairs.map(() => 0));
          native.reduceWith(
            kernel,
            nativeDType[dtype as DType],
            nativeReduceOp[op],
            inputs,
            [output],
            op === 'AVG' ? 2 : 1,
          );
          expect(new Set(bitsOf(output)), kernel).toEqual(new Set([quiet]));
        }
      },
    );
  },
);
