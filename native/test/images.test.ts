import { describe, expect, test } from 'vitest';
import { loadNative } from '../lib/index.ts';

const native = loadNative();

describe('lookUpImages', () => {
  const from = [2, 3, 4] as const;
  const pixels = Uint8Array.from({ length: 3 * 24 }, (_, i) => (i * 29 + 5) % 256);
  const values = Float32Array.from({ length: 512 }, (_, i) => Math.sqrt(i));
  const outside = Float32Array.of(-1, -2);

  /** Pixel (x, y) of a view, by definition. */
  function seen(channel: number, x: number, y: number, [index, top, left, step]: number[]): number {
    const [column, row] = [left + x * step, top + y];
    if (row < 0 || row >= 3 || column < 0 || column >= 4) return outside[channel];
    return values[256 * channel + pixels[24 * index + 12 * channel + 4 * row + column]];
  }

  test('looks up each pixel of each view, inside and outside the image', () => {
    const [height, width] = [3, 5];
    const steps = [1, -1];
    const shifts = [-7, -5, -2, -1, 0, 1, 3, 4, 8];
    const views = steps.flatMap((step) =>
      shifts.flatMap((left) => shifts.map((top) => [(left + 7) % 3, top, left, step])),
    );
    const target = new Float32Array(views.length * 2 * height * width).fill(NaN);
    native.lookUpImages(
      pixels,
      from,
      values,
      outside,
      Int32Array.from(views.flat()),
      [height, width],
      target,
    );
    const expected = views.flatMap((view) =>
      Array.from({ length: 2 * height * width }, (_, i) =>
        seen(Math.floor(i / 15), i % 5, Math.floor(i / 5) % 3, view),
      ),
    );
    expect([...target]).toEqual(expected);
  });

  test.each([
    ['an image that does not exist', [3, 0, 0, 1], 24, 'image index 3 is out of range'],
    ['an image before the first', [-1, 0, 0, 1], 24, 'image index -1 is out of range'],
    ['another step', [0, 0, 0, 2], 24, 'step: expected 1 or -1, got 2'],
    ['a target that is too small', [0, 0, 0, 1], 23, 'target: expected 24 elements, got 23'],
  ])('rejects %s', (_, view, length, message) => {
    const target = new Float32Array(length);
    const look = () => {
      native.lookUpImages(pixels, from, values, outside, Int32Array.from(view), [3, 4], target);
    };
    expect(look).toThrow(RangeError);
    expect(look).toThrow(message);
    expect([...target]).toEqual(Array.from({ length }, () => 0));
  });

  test('rejects tables for a different number of channels', () => {
    expect(() => {
      native.lookUpImages(
        pixels,
        from,
        values.subarray(256),
        outside,
        new Int32Array(0),
        [3, 4],
        new Float32Array(0),
      );
    }).toThrow('values and outside: expected tables for');
  });
});
