import { runInNewContext } from 'node:vm';

import { describe, expect, test } from 'vitest';

import { createCpuGroup, HashStore } from '@ringrun/collectives';
import { BFloat16Bits, dtypeOf, Float16Bits, reduceOpsFor } from '@ringrun/core';
import type { TypedArray } from '@ringrun/core';
import { loadNative, nativeDType } from '@ringrun/native';

const classes = [
  { dtype: 'float16', Bits: Float16Bits },
  { dtype: 'bfloat16', Bits: BFloat16Bits },
] as const;

const allPatterns = Uint16Array.from({ length: 2 ** 16 }, (_, bits) => bits);

describe.each(classes)('$Bits.name', ({ dtype, Bits }) => {
  test('its parts and copies have its dtype', () => {
    const bits = new Bits(8);
    expect(bits.BYTES_PER_ELEMENT).toBe(2);
    for (const array of [bits, bits.subarray(2, 5), bits.slice(1), new Bits(bits.buffer, 2, 3)]) {
      expect(array).toBeInstanceOf(Bits);
      expect(dtypeOf(array)).toBe(dtype);
    }
    expect(bits.subarray(2, 5).byteOffset).toBe(4);
  });

  test('is floating point', () => {
    expect(reduceOpsFor(dtype)).toEqual(reduceOpsFor('float32'));
  });

  test('toFloat32 agrees with the native kernels', () => {
    const wide = new Float32Array(allPatterns.length);
    loadNative().widenWith('plain', nativeDType[dtype], allPatterns, wide);
    expect(Bits.from(allPatterns).constructor).toBe(Bits);
    expect(new Bits(allPatterns.buffer).toFloat32()).toEqual(wide);
  });

  test('fromFloat32 agrees with the native kernels', () => {
    // The upper half has every value; the lower half is below, at and above the ties of both formats.
    const lower = [0, 1, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff];
    const patterns = Uint32Array.from(
      { length: 2 ** 16 * lower.length },
      (_, i) => (Math.floor(i / lower.length) << 16) | lower[i % lower.length],
    );
    const values = new Float32Array(patterns.buffer).filter((value) => !Number.isNaN(value));
    const narrow = new Uint16Array(values.length);
    loadNative().narrowWith('plain', nativeDType[dtype], values, narrow);
    const bits = Bits.fromFloat32(values);
    const wrong = narrow.findIndex((expected, i) => bits[i] !== expected);
    expect(wrong, `${values[wrong]} became ${bits[wrong]}, expected ${narrow[wrong]}`).toBe(-1);
  });

  test('every number survives a round trip', () => {
    const patterns = allPatterns.filter((bits) => !Number.isNaN(new Bits([bits]).toFloat32()[0]));
    expect(patterns.length).toBeGreaterThan(63_000);
    const back = Bits.fromFloat32(new Bits(patterns).toFloat32());
    expect(new Uint16Array(back.buffer)).toEqual(patterns);
  });

  test('accepts numbers of any array, including an empty one', () => {
    expect([...Bits.fromFloat32([1.5, -2, Infinity, NaN]).toFloat32()]).toEqual([1.5, -2, Infinity, NaN]);
    expect(Bits.fromFloat32([]).toFloat32()).toEqual(new Float32Array(0));
  });

  test('is allocated by groups; a group of one does not change it', async () => {
    const group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1 });
    const allocated = group.allocateSync(dtype, 3);
    expect(allocated).toEqual(new Bits(3));
    allocated.set(Bits.fromFloat32([1, 2, 3]));
    await group.allReduce(allocated, { op: 'AVG' });
    await group.broadcast(allocated.subarray(1));
    expect([...allocated.toFloat32()]).toEqual([1, 2, 3]);
    await group.destroy();
  });
});

test.each([
  [Float16Bits, 65_519.999, 0x7bff],
  [Float16Bits, 65_520, 0x7c00],
  [Float16Bits, -0, 0x8000],
  // Rounding to float32 first would make this a tie, which would be rounded down to the even 1.
  [Float16Bits, 1 + 2 ** -11 + 2 ** -40, 0x3c01],
  [BFloat16Bits, 1 + 2 ** -8 + 2 ** -40, 0x3f81],
  [BFloat16Bits, 1e300, 0x7f80],
  [BFloat16Bits, -(2 ** -134), 0x8000],
  [BFloat16Bits, 5e-324, 0x0000],
])('%o rounds %s once', (Bits, value, bits) => {
  expect(Bits.fromFloat32([value])[0]).toBe(bits);
});

test('an array of another copy of the class, or of another realm, has its dtype too', () => {
  const foreign: unknown = runInNewContext(`
    const key = Symbol.for('ringrun.dtypeOfBits');
    new (class Bits extends Uint16Array { get [key]() { return 'bfloat16'; } })(3)
  `);
  expect(foreign instanceof Uint16Array).toBe(false);
  expect(dtypeOf(foreign)).toBe('bfloat16');
});

test('a Uint16Array has no dtype, regardless of its name', () => {
  expect(dtypeOf(new Uint16Array(1))).toBeUndefined();
  expect(dtypeOf(new (class Float16Bits extends Uint16Array {})(1))).toBeUndefined();
});

/** Node ≥ 24. */
const Float16ArrayOfNode = (
  globalThis as { Float16Array?: new (values: number[]) => TypedArray & ArrayLike<number> }
).Float16Array;

test.runIf(Float16ArrayOfNode)("Node's own Float16Array is float16", async () => {
  const array = new Float16ArrayOfNode!([1, 2.5, -3]);
  expect(dtypeOf(array)).toBe('float16');
  const group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1 });
  await group.allReduce(array, { op: 'AVG' });
  group.broadcastSync(array);
  await group.destroy();
  expect(Array.from(array)).toEqual([1, 2.5, -3]);
});
