import { describe, expect, test } from 'vitest';

import { loadNative, nativeDType } from '@ringrun/native';

import type { Format16 } from './formats16.ts';
import { bfloat16, bitsOf, float16, valueOf } from './formats16.ts';

const native = loadNative();

const formats = [
  { dtype: 'float16', format: float16 },
  { dtype: 'bfloat16', format: bfloat16 },
] as const;

const hex = (bits: number) => `0x${bits.toString(16)}`;

/**
 * Every number of the format, the midpoint to the next one and its float32 neighbours, and numbers far beyond the
 * range.
 */
function valuesAround(format: Format16): Float32Array {
  const values = [1e38, 3.4e38, Infinity, 1e-45, 1e-40, 2 ** -149];
  for (let bits = 0; bits < format.infinity; bits++) {
    const value = valueOf(format, bits);
    const next =
      bits + 1 === format.infinity ? 2 * value - valueOf(format, bits - 1) : valueOf(format, bits + 1);
    const middle = (value + next) / 2;
    values.push(value, middle, middle * (1 - 2 ** -22), middle * (1 + 2 ** -22));
  }
  return Float32Array.from(values.flatMap((value) => [value, -value]));
}

/** Computed once for all kernels. */
const narrowed = formats.map(({ dtype, format }) => {
  const values = valuesAround(format);
  return { dtype, values, expected: Uint16Array.from(values, (value) => bitsOf(format, value)) };
});

describe.each(native.kernelNames())('conversions by %s', (kernel) => {
  const allPatterns = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits);

  test.each(formats)('widening $dtype is exact for every pattern', ({ dtype, format }) => {
    const wide = new Float32Array(allPatterns.length);
    native.widenWith(kernel, nativeDType[dtype], allPatterns, wide);
    allPatterns.forEach((bits) => {
      if (!Object.is(wide[bits], valueOf(format, bits))) {
        expect.fail(`${hex(bits)} is ${wide[bits]}, expected ${valueOf(format, bits)}`);
      }
    });
  });

  test.each(formats)('every pattern of $dtype survives a round trip through float32', ({ dtype, format }) => {
    const wide = new Float32Array(allPatterns.length);
    const back = new Uint16Array(allPatterns.length);
    native.widenWith(kernel, nativeDType[dtype], allPatterns, wide);
    native.narrowWith(kernel, nativeDType[dtype], wide, back);
    const quietBit = 1 << (format.fractionBits - 1);
    // A signalling NaN becomes the quiet one with the same payload.
    expect(back).toEqual(
      allPatterns.map((bits) => ((bits & 0x7fff) > format.infinity ? bits | quietBit : bits)),
    );
  });

  test.each(narrowed)(
    'narrowing to $dtype rounds to nearest, ties to even',
    ({ dtype, values, expected }) => {
      const narrow = new Uint16Array(values.length);
      native.narrowWith(kernel, nativeDType[dtype], values, narrow);
      narrow.forEach((bits, i) => {
        if (bits !== expected[i])
          expect.fail(`${values[i]} became ${hex(bits)}, expected ${hex(expected[i])}`);
      });
    },
  );

  // Known values, which also check the reference above.
  test.each([
    ['float16', 65_519.996, 0x7bff],
    ['float16', 65_520, 0x7c00],
    ['float16', -1e30, 0xfc00],
    ['float16', 1 + 2 ** -11, 0x3c00],
    ['float16', 1 + 3 * 2 ** -11, 0x3c02],
    ['float16', 2 ** -25, 0x0000],
    ['float16', 1.5 * 2 ** -25, 0x0001],
    ['float16', -(2 ** -14 - 2 ** -26), 0x8400],
    ['bfloat16', 3.3895313892515355e38, 0x7f7f],
    ['bfloat16', 3.4028234663852886e38, 0x7f80],
    ['bfloat16', 1 + 2 ** -8, 0x3f80],
    ['bfloat16', 1 + 3 * 2 ** -8, 0x3f82],
    ['bfloat16', 2 ** -133, 0x0001],
  ] as const)('%s of %s', (dtype, value, bits) => {
    const narrow = new Uint16Array(40);
    native.narrowWith(kernel, nativeDType[dtype], new Float32Array(40).fill(value), narrow);
    expect([...new Set(narrow)].map(hex)).toEqual([hex(bits)]);
  });

  test.each(formats)('a NaN of float32 stays NaN in $dtype for every payload', ({ dtype, format }) => {
    const patterns = [0x7f800001, 0x7f801fff, 0x7fffffff, 0xff800001, 0xffffffff, 0x7fc00000];
    const values = new Float32Array(Uint32Array.from({ length: 48 }, (_, i) => patterns[i % 6]).buffer);
    const narrow = new Uint16Array(48);
    native.narrowWith(kernel, nativeDType[dtype], values, narrow);
    narrow.forEach((bits, i) => {
      expect(bits & 0x7fff, hex(patterns[i % 6])).toBeGreaterThan(format.infinity);
      expect(bits >> 15).toBe(patterns[i % 6] >>> 31);
    });
  });

  test('rejects float32, which needs no conversion', () => {
    const array = new Float32Array(1);
    expect(() => {
      native.widenWith(kernel, nativeDType.float32, array, array);
    }).toThrow(/expected dtype float16 or bfloat16/);
  });
});

test.each(formats)('a NaN of $dtype is the same pattern with every kernel', ({ dtype }) => {
  const nans = Float32Array.from({ length: 4096 });
  new Uint32Array(nans.buffer).forEach(
    (_, i, bits) => (bits[i] = 0x7f800001 | ((i * 0x10623) & 0x7fffff) | (i << 31)),
  );
  const results = native.kernelNames().map((kernel) => {
    const narrow = new Uint16Array(nans.length);
    native.narrowWith(kernel, nativeDType[dtype], nans, narrow);
    return narrow;
  });
  for (const result of results) expect(result).toEqual(results[0]);
});
