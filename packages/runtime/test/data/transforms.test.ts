import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, test } from 'vitest';
import { Random, mixed } from '../../src/data/random.ts';
import { Pipeline } from '../../src/data/transforms/pipeline.ts';
import type { ImageShape } from '../../src/data/transforms/pipeline.ts';
import {
  CenterCrop,
  ColorJitter,
  Compose,
  Grayscale,
  Normalize,
  Pad,
  RandomAffine,
  RandomCrop,
  RandomErasing,
  RandomGrayscale,
  RandomHorizontalFlip,
  RandomResizedCrop,
  RandomRotation,
  RandomVerticalFlip,
  Resize,
  ToTensor,
} from '../../src/data/transforms/index.ts';
import type { Transform } from '../../src/data/transforms/index.ts';
import type { ViewTransform } from '../../src/data/transforms/stages/view.ts';

/** A transform that selects pixels, or depends on a pixel's value only. */
type SimpleTransform = ViewTransform | ToTensor | Normalize;

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

function applied(image: Image, transform: SimpleTransform, random: Random): Image {
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
    case 'RandomVerticalFlip':
      return random.uniform(0, 1) < transform.p ? image.map((rows) => rows.toReversed()) : image;
    case 'RandomCrop': {
      const { height, width, padding } = transform;
      const top = random.below(image[0].length + 2 * padding - height + 1) - padding;
      const left = random.below(image[0][0].length + 2 * padding - width + 1) - padding;
      return cropped(image, [top, left, height, width]);
    }
    case 'CenterCrop': {
      const [height, width] = transform.size;
      const before = (from: number, to: number) => Math.max(0, Math.floor((to - from) / 2));
      const begin = (from: number, to: number) => (to > from ? -before(from, to) : toEven((from - to) / 2));
      const [rows, columns] = [image[0].length, image[0][0].length];
      return cropped(image, [begin(rows, height), begin(columns, width), height, width]);
    }
    case 'Pad': {
      const [left, top, right, bottom] = transform.padding;
      const [height, width] = [image[0].length + top + bottom, image[0][0].length + left + right];
      const { fill } = transform;
      return image.flatMap((rows, channel) =>
        cropped([rows], [-top, -left, height, width], typeof fill === 'number' ? fill : fill[channel]),
      );
    }
  }
}

function cropped(image: Image, [top, left, height, width]: number[], outside = 0): Image {
  return image.map((rows) =>
    Array.from({ length: height }, (_, y) =>
      Array.from({ length: width }, (_, x) => rows[top + y]?.[left + x] ?? outside),
    ),
  );
}

/** Python's round, for halves. */
const toEven = (value: number) => (value % 2 === 0.5 ? Math.floor(value) : Math.round(value));

const shape: ImageShape = [3, 6, 5];
const pixels = Uint8Array.from({ length: 3 * 90 }, (_, i) => (i * 37 + 11) % 256);
const mean = [0.5, 0.4, 0.3];
const std = [0.2, 0.25, 0.3];

describe('one pass over the pixels equals the transforms in sequence:', () => {
  test.each<[string, SimpleTransform[]]>([
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
    [
      'flips in both directions, crop',
      [
        new RandomVerticalFlip(),
        new RandomCrop([5, 4], { padding: 1 }),
        new RandomHorizontalFlip(),
        new RandomVerticalFlip(),
        new ToTensor(),
      ],
    ],
    [
      'border of a colour, crop',
      [new Pad([1, 2, 3, 0], { fill: [9, 200, 31] }), new RandomCrop(5), new ToTensor()],
    ],
    ['border after Normalize', [new ToTensor(), new Normalize(mean, std), new Pad([2, 1], { fill: -7.5 })]],
    [
      'border after a crop',
      [new RandomCrop(3), new Pad(2), new RandomCrop(5), new ToTensor(), new Normalize(mean, std)],
    ],
    [
      'two borders',
      [
        new Pad(1, { fill: 77 }),
        new RandomCrop(6, { padding: 2 }),
        new ToTensor(),
        new Normalize(mean, std),
        new Pad(1),
      ],
    ],
    [
      'crop of the middle',
      [new RandomHorizontalFlip(), new CenterCrop([3, 2]), new ToTensor(), new Normalize(mean, std)],
    ],
    ['crop of the middle of a smaller image', [new ToTensor(), new CenterCrop([9, 4]), new RandomCrop(3)]],
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

/** The result for one image of `shape`. */
function transformed(transforms: readonly Transform[], random: Random, image = 1): Image {
  const pipeline = new Pipeline(transforms, shape);
  const target = new Float32Array(pipeline.shape.reduce((product, size) => product * size, 1));
  pipeline.run(pixels, [{ index: image, random }], target);
  return toImage(target, pipeline.shape);
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);

const levels = (image: Image) => image.map((rows) => rows.map((row) => row.map((v) => Math.round(v * 255))));

describe('stages', () => {
  test('run in the order of the list, on the pixels that the one before created', () => {
    const wide = [new CenterCrop([2, 5]), new Resize([6, 10]), new CenterCrop(2), new ToTensor()];
    const narrow = [new Resize([6, 10]), new CenterCrop(2), new ToTensor()];
    expect(levels(transformed(wide, new Random(1)))[0]).toHaveLength(2);
    expect(transformed(wide, new Random(1))).not.toEqual(transformed(narrow, new Random(1)));
    const flip = new RandomHorizontalFlip({ p: 1 });
    expect(transformed([new Resize([6, 10]), flip, new ToTensor()], new Random(1))).toEqual(
      transformed([flip, new Resize([6, 10]), new ToTensor()], new Random(1)),
    );
  });

  test('of a batch equal those of each image, for more images than a group has', () => {
    const transforms = [
      new RandomCrop(4, { padding: 1 }),
      new RandomResizedCrop(96),
      new ColorJitter(0.4, 0.4, 0.4, 0.1),
      new RandomAffine(20, { translate: [0.1, 0.1] }),
      new RandomGrayscale({ p: 0.3 }),
      new RandomHorizontalFlip(),
      new ToTensor(),
      new RandomErasing({ p: 0.9, value: 'random' }),
    ];
    const pipeline = new Pipeline(transforms, shape);
    const target = new Float32Array(20 * 3 * 96 * 96);
    const wanted = Array.from({ length: 20 }, (_, i) => ({ index: i % 2, random: new Random(mixed(i)) }));
    pipeline.run(pixels, wanted, target);
    const size = 3 * 96 * 96;
    for (const i of [0, 8, 19]) {
      const alone = new Float32Array(size);
      pipeline.run(pixels, [{ index: i % 2, random: new Random(mixed(i)) }], alone);
      expect(Buffer.compare(bytesOf(alone), bytesOf(target.subarray(i * size, (i + 1) * size)))).toBe(0);
    }
  });

  test('of gray levels change the channels', () => {
    const gray = transformed([new Grayscale(), new ToTensor(), new Normalize([0.5], [0.5])], new Random(1));
    expect(gray).toHaveLength(1);
    const [first, second, third] = transformed(
      [new Grayscale(), new Grayscale({ numOutputChannels: 3 }), new ToTensor()],
      new Random(1),
    );
    expect([second, third]).toEqual([first, first]);
    const grayLevels = levels([first]).flat(2);
    expect(gray[0].flat()).toEqual(grayLevels.map((level) => Math.fround((level / 255 - 0.5) / 0.5)));
  });
});

describe('RandomErasing', () => {
  const clear = toImage(pixels.subarray(90), shape);
  const value = (image: Image, before: Image) =>
    image.map((rows, c) => rows.flatMap((row, y) => row.filter((v, x) => v !== before[c][y][x])));

  test('erases a rectangle with the values of the channels, which later transforms change', () => {
    const erasing = new RandomErasing({ p: 1, scale: [0.3, 0.3], ratio: [1, 1], value: [-1, -2, -3] });
    const before = clear.map((rows) => rows.map((row) => row.map((level) => Math.fround(level / 255))));
    for (let seed = 0; seed < 20; seed += 1) {
      const erased = value(transformed([new ToTensor(), erasing], new Random(seed)), before);
      expect(erased).toEqual([-1, -2, -3].map((v) => new Array<number>(9).fill(v)));
    }
    const normal = new Normalize(mean, std);
    const normalized = transformed([new ToTensor(), erasing, normal], new Random(3));
    const changed = value(normalized, transformed([new ToTensor(), normal], new Random(3)));
    expect(changed).toEqual(
      [-1, -2, -3].map((v, c) => new Array<number>(9).fill(Math.fround((v - mean[c]) / std[c]))),
    );
  });

  test('erases with normally distributed values, with probability p', () => {
    const pipeline = new Pipeline([new ToTensor(), new RandomErasing({ value: 'random' })], [1, 32, 32]);
    const values: number[] = [];
    let count = 0;
    for (let i = 0; i < 400; i += 1) {
      const target = new Float32Array(1024);
      pipeline.run(new Uint8Array(1024), [{ index: 0, random: new Random(mixed(5, i)) }], target);
      const erased = target.filter((v) => v !== 0);
      values.push(...erased);
      count += Math.sign(erased.length);
    }
    // 5 standard deviations of a coin.
    expect(Math.abs(count - 200)).toBeLessThan(50);
    const average = values.reduce((sum, v) => sum + v, 0) / values.length;
    const variance = values.reduce((sum, v) => sum + (v - average) ** 2, 0) / values.length;
    expect(average).toBeCloseTo(0, 1.3);
    expect(variance).toBeCloseTo(1, 1.3);
  });
});

describe('rejects', () => {
  const make =
    (...transforms: Transform[]) =>
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
      'two borders after ToTensor',
      make(new ToTensor(), new RandomCrop(5, { padding: 1 }), new RandomCrop(5, { padding: 1 })),
      'RandomCrop: expected at most one border after ToTensor, and before crops, got more. Put RandomCrop before ToTensor.',
    ],
    ['colours after ToTensor', make(new ToTensor(), new ColorJitter(0.4)), 'Put ColorJitter before ToTensor'],
    ['Resize after ToTensor', make(new ToTensor(), new Resize(4)), 'Put Resize before ToTensor'],
    [
      'erasing before ToTensor',
      make(new RandomErasing(), new ToTensor()),
      'Put ToTensor before RandomErasing',
    ],
    [
      'a flip after erasing',
      make(new ToTensor(), new RandomErasing(), new RandomHorizontalFlip()),
      'Put RandomHorizontalFlip before RandomErasing',
    ],
    [
      'a fill of two channels',
      make(new RandomRotation(5, { fill: [1, 2] }), new ToTensor()),
      'RandomRotation: expected fill of one number or of 3 channels, got 2 numbers',
    ],
    [
      'a border of -1',
      make(new Pad(1, { fill: -1 }), new ToTensor()),
      'expected a fill from 0 to 255 before',
    ],
    [
      'colours of two channels',
      () => new Pipeline([new Grayscale(), new ToTensor()], [2, 4, 4]),
      'Grayscale: expected images of 1 or 3 channels, got 2',
    ],
    [
      'a hue above half a turn',
      () => new ColorJitter({ hue: 0.6 }),
      'hue must be two numbers from -0.5 to 0.5',
    ],
    ['a negative brightness', () => new ColorJitter(-1), 'brightness must be a number of at least 0'],
    ['two channels of gray', () => new Grayscale({ numOutputChannels: 2 as 1 }), 'must be 1 or 3, got 2'],
    ['a negative border', () => new Pad([1, -1]), 'padding must be an integer of at least 0, got -1'],
    ['a negative angle', () => new RandomRotation(-3), 'degrees must be a number of at least 0'],
    [
      'another interpolation',
      () => new RandomRotation(3, { interpolation: 'cubic' as 'nearest' }),
      "interpolation must be 'nearest' or 'bilinear', got \"cubic\"",
    ],
    [
      'a shift above 1',
      () => new RandomAffine(0, { translate: [0, 2] }),
      'translate must be two numbers from 0 to 1',
    ],
    ['three shears', () => new RandomAffine(0, { shear: [1, 2, 3] as never }), 'one, two or four numbers'],
    [
      'an area above 1',
      () => new RandomErasing({ scale: [0.5, 1.5] }),
      'scale must be two numbers from 0 to 1',
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
