import { narrowFloat32, widenToFloat32 } from '@ringrun/collectives';
import { BFloat16Bits, Float16Bits } from '@ringrun/core';
import { expect, test } from 'vitest';

/**
 * Every exponent and both signs, with fractions that are rounded up, down and to even. The count is odd, so that some
 * elements do not fill a vector.
 */
const values = Float32Array.from({ length: 40_001 }, (_, i) => {
  const fraction = 1 + (i % 97) / 96 + 2 ** -11 * (i % 3);
  return (i % 2 === 0 ? 1 : -1) * fraction * 2 ** ((i % 250) - 125);
});

test.each([Float16Bits, BFloat16Bits])('%o: converts in both directions exactly like JavaScript', (Bits) => {
  const bits = new Bits(values.length);
  narrowFloat32(values, bits);
  const expected = Bits.fromFloat32(values);
  expect(Buffer.from(bits.buffer).equals(Buffer.from(expected.buffer))).toBe(true);
  const wide = new Float32Array(values.length);
  widenToFloat32(bits, wide);
  expect(wide).toEqual(expected.toFloat32());
});

test('arrays of different lengths or wrong dtypes are refused, and nothing is written', () => {
  const two = new Float16Bits(2);
  expect(() => {
    narrowFloat32(Float32Array.of(1, 2, 3), two);
  }).toThrow(/expected arrays of the same length, got 3 float32 and 2 float16 elements/);
  expect(() => {
    narrowFloat32(Float32Array.of(1, 2), new Uint16Array(2) as unknown as Float16Bits);
  }).toThrow(/expected a Float32Array and .*, got arrays of float32 and no dtype/);
  expect(() => {
    widenToFloat32(two, new Float64Array(2) as unknown as Float32Array);
  }).toThrow(/got arrays of float64 and float16/);
  expect([...two]).toEqual([0, 0]);
});
