import { describe, expect, test } from 'vitest';

import { loadNative } from '@ringrun/native';

import { blockElements, largestOf, packedBytes, quantized, scaleOf } from '../../test/support/quantized.ts';
import type { Bits } from '../../test/support/quantized.ts';

const native = loadNative();
const { fround } = Math;

const lengths = [0, 1, 3, 15, 16, 17, 255, 256, 257, 1000, 3 * 256];
const allBits: Bits[] = [8, 4];

/** Irregular numbers of very different sizes from block to block. `special` numbers are in every third block. */
function irregular(length: number, seed: number, special: readonly number[] = []): Float32Array {
  let state = 12345 + seed * 7919;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  return Float32Array.from({ length }, (_, i) => {
    const block = Math.floor(i / blockElements);
    if (special.length > 0 && block % 3 === 1 && i % 50 === seed) return special[i % special.length];
    return (next() - 0.5) * 10 ** (((block + seed) % 13) * 3 - 18) * (next() < 0.01 ? 30 : 1);
  });
}

/** Every integer and a half, and its neighbours: where the rounding decides. */
function ties(bits: Bits): Float32Array {
  const largest = largestOf(bits);
  const halves = Array.from({ length: largest }, (_, q) => [
    q + 0.5,
    (q + 0.5) * (1 - 2 ** -23),
    (q + 0.5) * (1 + 2 ** -23),
  ]);
  // The scale of a block whose largest element is `largest` is 1.
  const elements = halves.flat().flatMap((value) => [value, -value]);
  return Float32Array.from(elements.flatMap((value, i) => (i % 200 === 0 ? [largest, value] : [value])));
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe.each(native.kernelNames())('quantization by %s', (kernel) => {
  describe.each(allBits)('to %i bits', (bits) => {
    const quantize = (values: Float32Array, divisor = 1, error?: Float32Array) => {
      const packed = new Uint8Array(packedBytes(bits, values.length)).fill(0xaa);
      native.quantizeWith(kernel, bits, values, divisor, error, packed);
      return packed;
    };
    const dequantize = (packed: Uint8Array, length: number) => {
      const values = new Float32Array(length).fill(7);
      native.dequantizeWith(kernel, bits, packed, values);
      return values;
    };

    test.each(lengths)('packs %i elements as the plain form does, bit for bit', (length) => {
      const elements = irregular(length, 1, [NaN, 3, -Infinity]);
      const expected = quantized(bits, elements);
      const packed = quantize(elements);
      expect(hexOf(packed)).toBe(hexOf(expected.packed));
      expect(dequantize(packed, length)).toEqual(expected.values);
    });

    test('rounds ties away from zero', () => {
      const elements = ties(bits);
      const packed = quantize(elements);
      expect(hexOf(packed)).toBe(hexOf(quantized(bits, elements).packed));
      const values = dequantize(packed, elements.length);
      const at = elements.findIndex((element, i) => i < 100 && element === 2.5);
      expect([values[at], values[at + 1]]).toEqual([3, -3]);
    });

    test.each([1, 3])('adds the error after dividing by %i, and keeps what the rounding lost', (divisor) => {
      const [values, before] = [irregular(1000, 2, [NaN, 5]), irregular(1000, 9)];
      const elements = values.map((value, i) => fround(fround(value / divisor) + before[i]));
      const expected = quantized(bits, elements);
      const error = before.slice();
      expect(hexOf(quantize(values, divisor, error))).toBe(hexOf(expected.packed));
      // A block that is not finite keeps its error.
      expect(error).toEqual(before.map((one, i) => expected.lost[i] ?? one));
    });

    test('loses at most half a step of its block', () => {
      const elements = irregular(20 * blockElements, 3);
      const values = dequantize(quantize(elements), elements.length);
      for (let begin = 0; begin < elements.length; begin += blockElements) {
        const block = elements.subarray(begin, begin + blockElements);
        const most = Math.max(...block.map(Math.abs)) / largestOf(bits) / 2;
        block.forEach((element, i) => {
          expect(Math.abs(element - values[begin + i])).toBeLessThanOrEqual(most * 1.0001);
        });
      }
    });

    test('sums terms in their order, rounds once more, and adds what that lost to the error', () => {
      for (const length of lengths) {
        const terms = [1, 2, 3, 4].map((seed) =>
          quantized(bits, irregular(length, seed, seed === 3 ? [NaN, 1] : [])),
        );
        const sum = terms[0].values.map((_, i) =>
          terms.slice(1).reduce((total, { values }) => fround(total + values[i]), terms[0].values[i]),
        );
        const expected = quantized(bits, sum);
        const before = irregular(length, 11);
        const error = before.slice();
        const packed = new Uint8Array(packedBytes(bits, length)).fill(0xaa);
        const inputs = terms.map((one) => one.packed);
        native.combineQuantizedWith(kernel, bits, length, inputs, packed, error);
        expect(hexOf(packed)).toBe(hexOf(expected.packed));
        expect(error).toEqual(before.map((one, i) => fround(one + (expected.lost[i] ?? 0))));
      }
    });

    test.each([
      ['tiny numbers become 0 and stay in the error', [2 ** -120, -(2 ** -149), 0]],
      ['the largest numbers keep their size', [3.4e38, -3.4e38, 1e38]],
    ])('%s', (_, given) => {
      const elements = Float32Array.from(given);
      const error = new Float32Array(3);
      const packed = quantize(elements, 1, error);
      expect(hexOf(packed)).toBe(hexOf(quantized(bits, elements).packed));
      const values = dequantize(packed, 3);
      expect(values.map((value, i) => fround(value + error[i]))).toEqual(elements);
      expect(values[0] === 0).toBe(scaleOf(bits, elements) === 0);
    });

    test('reads and writes arrays at any alignment, and nothing beside them', () => {
      const memory = irregular(600, 5);
      const expected = quantized(bits, memory.subarray(1, 301));
      const packedMemory = new Uint8Array(packedBytes(bits, 300) + 2).fill(0xaa);
      const packed = packedMemory.subarray(1, -1);
      native.quantizeWith(kernel, bits, memory.subarray(1, 301), 1, undefined, packed);
      expect(hexOf(packed)).toBe(hexOf(expected.packed));
      const values = new Float32Array(302).fill(7);
      native.dequantizeWith(kernel, bits, packed, values.subarray(1, 301));
      expect(values.subarray(1, 301)).toEqual(expected.values);
      expect([packedMemory[0], packedMemory.at(-1), values[0], values[301]]).toEqual([0xaa, 0xaa, 7, 7]);
    });
  });
});

test('rejects bits and lengths that do not fit', () => {
  const values = new Float32Array(300);
  expect(() => {
    native.quantizeWith('plain', 5, values, 1, undefined, new Uint8Array(520));
  }).toThrow(/expected 8 or 4 bits/);
  expect(() => {
    native.quantizeWith('plain', 8, values, 1, undefined, new Uint8Array(519));
  }).toThrow(/expected 520 packed bytes/);
  expect(() => {
    native.quantizeWith('plain', 8, values, 1, new Float32Array(299), new Uint8Array(520));
  }).toThrow(/expected an array of 300 elements/);
});
