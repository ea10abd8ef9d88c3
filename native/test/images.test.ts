import { describe, expect, test } from 'vitest';
import { loadNative } from '../lib/index.ts';

const native = loadNative();

describe('lookUpImages', () => {
  const from = [2, 3, 4] as const;
  const pixels = Uint8Array.from({ length: 3 * 24 }, (_, i) => (i * 29 + 5) % 256);
  const values = Float32Array.from({ length: 512 }, (_, i) => Math.sqrt(i));
  const outside = Float32Array.of(-1, -2);

  /** Pixel (x, y) of a view, by definition. */
  function seen(channel: number, x: number, y: number, [index, top, left, down, right]: number[]): number {
    const [column, row] = [left + x * right, top + y * down];
    if (row < 0 || row >= 3 || column < 0 || column >= 4) return outside[channel];
    return values[256 * channel + pixels[24 * index + 12 * channel + 4 * row + column]];
  }

  test('looks up each pixel of each view, inside and outside the image', () => {
    const [height, width] = [3, 5];
    const steps = [1, -1];
    const shifts = [-7, -5, -2, -1, 0, 1, 3, 4, 8];
    const views = steps.flatMap((down) =>
      steps.flatMap((right) =>
        shifts.flatMap((left) => shifts.map((top) => [(left + 7) % 3, top, left, down, right])),
      ),
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

  test('looks up bytes', () => {
    const bytes = Uint8Array.from({ length: 512 }, (_, i) => 255 - (i % 256));
    const target = new Uint8Array(24);
    const views = Int32Array.of(1, 0, 0, -1, 1);
    native.lookUpImages(pixels, from, bytes, Uint8Array.of(1, 2), views, [3, 4], target);
    const first = [...pixels.subarray(24, 28)].map((level) => 255 - level);
    expect([...target]).toEqual([
      ...first,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      ...[...pixels.subarray(36, 40)].map((v) => 255 - v),
      2,
      2,
      2,
      2,
      2,
      2,
      2,
      2,
    ]);
  });

  test.each([
    ['an image that does not exist', [3, 0, 0, 1, 1], 24, 'image index 3 is out of range'],
    ['an image before the first', [-1, 0, 0, 1, 1], 24, 'image index -1 is out of range'],
    ['another step', [0, 0, 0, 1, 2], 24, 'step: expected 1 or -1, got 2'],
    ['a target that is too small', [0, 0, 0, 1, 1], 23, 'target: expected 24 elements, got 23'],
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

describe('functions of images reject', () => {
  const size = [3, 4, 5] as const;
  const image = () => Uint8Array.from({ length: 60 }, (_, i) => i);
  const target = new Uint8Array(60);
  const fill = new Float32Array(3);
  const resize =
    (...part: number[]) =>
    () => {
      native.resizeImages(image(), size, Int32Array.from(part), [4, 5], target);
    };
  const warp =
    (matrix: number[], levels = fill) =>
    () => {
      native.warpImages(image(), size, Float64Array.from(matrix), false, levels, target);
    };
  const adjust =
    (...step: number[]) =>
    () => {
      native.adjustColors(image(), size, Float64Array.from(step));
    };
  const cut =
    (...box: [number, number, number, number]) =>
    () => {
      native.cutMixImages(new Float32Array(60), size, box);
    };
  test.each<[string, () => void, string]>([
    ['a part that begins outside', resize(0, -1, 0, 2, 2), 'part: expected a rectangle of the image'],
    ['a part that ends outside', resize(0, 0, 4, 2, 2), 'part: expected a rectangle of the image'],
    ['a part without pixels', resize(0, 0, 0, 0, 2), 'part: expected a rectangle of the image'],
    ['a part of another image', resize(1, 0, 0, 2, 2), 'image index 1 is out of range'],
    ['half a part', resize(0, 0), 'expected rows of 5 numbers, got 2'],
    ['a matrix of another image', warp([1, 1, 0, 0, 0, 1, 0]), 'image index 1'],
    [
      'a level that is no byte',
      warp([0, 1, 0, 0, 0, 1, 0], Float32Array.of(0, 256, 0)),
      'fill: expected a level',
    ],
    ['an operation that does not exist', adjust(0, 5, 1), 'expected an operation from 0 to 4'],
    ['half an image', adjust(0.5, 1, 1), 'image index 0.5'],
    ['a factor that is no number', adjust(0, 1, NaN), 'factor: expected a number'],
    ['a hue of a turn', adjust(0, 3, 1), 'factor: expected a number within 0.5'],
    ['a box that ends outside', cut(0, 0, 6, 2), 'box: expected a rectangle of the image'],
    ['a box that ends before it begins', cut(3, 0, 2, 2), 'box: expected a rectangle of the image'],
    ['a negative size', cut(-1, 0, 2, 2), 'expected a size from 0'],
    [
      'batches of other images',
      () => {
        native.mixUpImages(new Float32Array(7), 2, 0.5);
      },
      'expected 2 images of one size, got 7',
    ],
  ])('%s', (_, act, message) => {
    expect(act).toThrow(RangeError);
    expect(act).toThrow(message);
  });

  test('a matrix of NaN and infinity shows only the fill', () => {
    const result = new Uint8Array(120).fill(9);
    const rows = [0, NaN, 0, 0, 0, 1, 0, 0, Infinity, 0, 1, 0, Infinity, 1];
    native.warpImages(image(), size, Float64Array.from(rows), true, Float32Array.of(3, 4, 5), result);
    expect(new Set(result)).toEqual(new Set([3, 4, 5]));
  });
});
