import { describe, expect, test } from 'vitest';

import { loadNative, nativeDType, nativeReduceOp } from '@ringrun/native';

import type { DType, Elements } from './support/reference.ts';

const native = loadNative();

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
    // Every pair with a NaN result: in whole vectors, and in the elements after them.
    const isNaNs = (op: string, left: number, right: number) =>
      bits.includes(left) ||
      bits.includes(right) ||
      (op === 'SUM' && numbers.indexOf(left) + numbers.indexOf(right) === 1);

    test.each(['SUM', 'AVG', 'PRODUCT', 'MIN', 'MAX'] as const)(
      'is bit-identical with every kernel: %s',
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
