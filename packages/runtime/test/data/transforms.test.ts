import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, test } from 'vitest';
import { Random, mixed } from '../../src/data/random.ts';
import { Pipeline } from '../../src/data/transforms/pipeline.ts';
import type { ImageShape } from '../../src/data/transforms/pipeline.ts';
import {
  Compose,
  Normalize,
  RandomCrop,
  RandomHorizontalFlip,
  ToTensor,
} from '../../src/data/transforms/transforms.ts';
import type { ImageFileTransform } from '../../src/data/transforms/image-file-transforms.ts';
import type { Transform } from '../../src/data/transforms/transforms.ts';

/** A transform of images in memory. */
type MemoryTransform = Exclude<Transform, ImageFileTransform>;

/**
 * An image as a list of channels, of rows, of values: the reference for the transforms, applied one after the other.
 */
type Image = number[][][];

const toImage = (values: ArrayLike<number>, [channels, height, width]: ImageShape): Image =>
  Array.from({ length: channels }, (_, c) =>
    Array.from({ length: height }, (_, y) =>
      Array.from({ length: width }, (_, x) => values[(c * height + y) * width + x]),
    ),
  );

function applied(image: Image, transform: MemoryTransform, random: Random): Image {
  const eachValue = (change: (value: number, channel: number) => number) =>
    image.map((rows, channel) => rows.map((row) => row.map((value) => change(value, channel))));
  switch (transform.kind) {
    case 'ToTensor':
      return eachValue((value) => value / 255);
    case 'Normalize':
      return eachValue((value, channel) => (value - transform.mean[channel]) / transform.std[channel]);
    case 'RandomHorizontalFlip':
      return random.uniform(0, 1) < transform.p
        ? image.map((rows) => rows.map((row) => row.toReversed()))
        : image;
    case 'RandomCrop': {
      const { height, width, padding } = transform;
      const top = random.below(image[0].length + 2 * padding - height + 1) - padding;
      const left = random.below(image[0][0].length + 2 * padding - width + 1) - padding;
      return image.map((rows) =>
        Array.from({ length: height }, (_, y) =>
          Array.from({ length: width }, (_, x) => rows[top + y]?.[left + x] ?? 0),
        ),
      );
    }
  }
}

const shape: ImageShape = [3, 6, 5];
const pixels = Uint8Array.from({ length: 3 * 90 }, (_, i) => (i * 37 + 11) % 256);
const mean = [0.5, 0.4, 0.3];
const std = [0.2, 0.25, 0.3];

describe('one pass over the pixels equals the transforms in sequence:', () => {
  test.each<[string, MemoryTransform[]]>([
    ['values', [new ToTensor(), new Normalize(mean, std)]],
    ['crop', [new RandomCrop([4, 3]), new ToTensor()]],
    ['crop with padding', [new RandomCrop([6, 5], { padding: 2 }), new ToTensor(), new Normalize(mean, std)]],
    [
      'crop with padding after Normalize',
      [new ToTensor(), new Normalize(mean, std), new RandomCrop(5, { padding: 3 })],
    ],
    ['flip', [new RandomHorizontalFlip(), new ToTensor()]],
    [
      'crop, flip',
      [
        new RandomCrop([6, 5], { padding: 2 }),
        new RandomHorizontalFlip(),
        new ToTensor(),
        new Normalize(mean, std),
      ],
    ],
    [
      'flip, crop, flip, crop',
      [
        new RandomHorizontalFlip(),
        new RandomCrop([5, 4], { padding: 1 }),
        new RandomHorizontalFlip(),
        new RandomCrop(3),
        new ToTensor(),
      ],
    ],
    ['a crop larger than the image', [new RandomCrop(8, { padding: 2 }), new ToTensor()]],
  ])('%s', (_, transforms) => {
    const pipeline = new Pipeline(new Compose(transforms).transforms, shape);
    const seen = new Set<string>();
    for (let seed = 0; seed < 60; seed += 1) {
      const target = new Float32Array(pipeline.shape.reduce((product, size) => product * size, 1));
      pipeline.run(pixels, [{ index: 1, random: new Random(mixed(seed)) }], target);
      const random = new Random(mixed(seed));
      const expected = transforms.reduce<Image>(
        (image, transform) => applied(image, transform, random),
        toImage(pixels.subarray(90), shape),
      );
      expect(toImage(target, pipeline.shape)).toEqual(
        expected.map((rows) => rows.map((row) => row.map(Math.fround))),
      );
      seen.add(target.join());
    }
    const isRandom = transforms.some(({ kind }) => kind.startsWith('Random'));
    expect(seen.size > 1).toBe(isRandom);
  });
});

test('positions of a crop and flips are uniformly distributed', () => {
  const pipeline = new Pipeline([new RandomCrop(1, { padding: 1 }), new ToTensor()], [1, 2, 2]);
  const counts = new Map<number, number>();
  for (let index = 0; index < 16_000; index += 1) {
    const target = new Float32Array(1);
    const wanted = { index: 0, random: new Random(mixed(1, 2, index)) };
    pipeline.run(Uint8Array.of(51, 102, 153, 204), [wanted], target);
    counts.set(target[0], (counts.get(target[0]) ?? 0) + 1);
  }
  // Of 16 places each pixel is one, and black are 12. A deviation of 5 sigma (150) is one in millions.
  for (const value of [51, 102, 153, 204])
    expect(counts.get(Math.fround(value / 255))).toBeCloseTo(1000, -2.6);
  const flips = [0.1, 0.5, 0.9].map((p) => {
    const flip = new Pipeline([new RandomHorizontalFlip({ p }), new ToTensor()], [1, 1, 2]);
    const flipped = Array.from({ length: 10_000 }, (_, index) => {
      const target = new Float32Array(2);
      flip.run(Uint8Array.of(0, 255), [{ index: 0, random: new Random(mixed(3, 0, index)) }], target);
      return target[0];
    });
    return flipped.reduce((sum, value) => sum + value, 0) / 10_000;
  });
  expect(flips[0]).toBeCloseTo(0.1, 1.3);
  expect(flips[1]).toBeCloseTo(0.5, 1.3);
  expect(flips[2]).toBeCloseTo(0.9, 1.3);
});

test('mixed depends on every number, its order and its upper half', () => {
  const hashes = [[], [0], [0, 0], [1], [1, 0], [0, 1], [2 ** 32], [2 ** 32, 1], [5, 7, 9], [9, 7, 5]].map(
    (numbers) => mixed(...numbers),
  );
  expect(new Set(hashes).size).toBe(hashes.length);
});

describe('rejects', () => {
  const make =
    (...transforms: MemoryTransform[]) =>
    () =>
      new Pipeline(transforms, shape);
  test.each<[string, () => unknown, string]>([
    ['no ToTensor', make(), 'expected a ToTensor'],
    ['Normalize before ToTensor', make(new Normalize(mean, std), new ToTensor()), 'Put ToTensor first'],
    ['two ToTensor', make(new ToTensor(), new ToTensor()), 'expected one ToTensor, got two'],
    ['other channels', make(new ToTensor(), new Normalize([0.5], [0.5])), 'of 3 channels, got 1'],
    [
      'a crop that does not fit',
      make(new RandomCrop([9, 5], { padding: 1 }), new ToTensor()),
      'a crop of 9 x 5 does not fit in images of 6 x 5',
    ],
    [
      'two paddings',
      make(new RandomCrop(5, { padding: 1 }), new RandomCrop(5, { padding: 1 }), new ToTensor()),
      'two RandomCrop with padding',
    ],
    ['a size of 0', () => new RandomCrop(0), 'height must be an integer of at least 1, got 0'],
    ['half a pixel', () => new RandomCrop(4, { padding: 0.5 }), 'padding must be an integer of at least 0'],
    ['a p above 1', () => new RandomHorizontalFlip({ p: 1.5 }), 'p must be a number from 0 to 1, got 1.5'],
    ['std 0', () => new Normalize([0], [0]), 'std must not be 0'],
    ['mean without std', () => new Normalize([0, 0], [1]), 'got 2 and 1'],
    ['NaN', () => new Normalize([NaN], [1]), 'must be finite, got NaN'],
  ])('%s', (_, act, message) => {
    expect(act).toThrow(InvalidArgumentError);
    expect(act).toThrow(message);
  });
});
