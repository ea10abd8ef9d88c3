import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { ImageDecoder } from '../../../src/data/images/image-decoder.ts';
import {
  CenterCrop,
  ColorJitter,
  Normalize,
  RandomCrop,
  RandomHorizontalFlip,
  RandomResizedCrop,
  Resize,
  ToTensor,
} from '../../../src/data/transforms/index.ts';
import type { Transform } from '../../../src/data/transforms/index.ts';
import { gradient, imageFile } from './image-files.ts';
import type { ColourAt } from './image-files.ts';

const pass = { seed: 3, epoch: 0 };

/** The image of a file, as levels of [channel][row][column]. */
async function decoded(bytes: Uint8Array, transforms: readonly Transform[], identity = [1], of = pass) {
  const decoder = new ImageDecoder([...transforms, new ToTensor()]);
  const [{ image }] = await decoder.decode([{ name: 'a.png', bytes, label: 4n, identity }], of);
  const [, height, width] = image.shape;
  const levels = Array.from(image.data, (value) => Math.round(value * 255));
  const plane = (channel: number) =>
    Array.from({ length: height }, (_, y) =>
      levels.slice((channel * height + y) * width, (channel * height + y + 1) * width),
    );
  return [plane(0), plane(1), plane(2)];
}

function expected(width: number, height: number, colourAt: ColourAt): number[][][] {
  return [0, 1, 2].map((channel) =>
    Array.from({ length: height }, (_, y) =>
      Array.from({ length: width }, (_, x) => colourAt(x, y)[channel]),
    ),
  );
}

const largestDifference = (a: number[][][], b: number[][][]) =>
  Math.max(...a.flat(2).map((value, index) => Math.abs(value - b.flat(2)[index])));

test('a PNG has its colours, channel by channel', async () => {
  expect(await decoded(await imageFile(7, 5), [])).toEqual(expected(7, 5, gradient));
});

test('a JPEG has nearly its colours', async () => {
  const smooth: ColourAt = (x, y) => [100 + x, 120 + y, 90];
  const found = await decoded(await imageFile(16, 8, smooth, 'jpeg'), []);
  expect(largestDifference(found, expected(16, 8, smooth))).toBeLessThan(12);
});

test.each([
  ['grey', (file: Buffer) => sharp(file).greyscale().png().toBuffer()],
  ['with an alpha channel', (file: Buffer) => sharp(file).ensureAlpha(0.5).png().toBuffer()],
  ['with a palette', (file: Buffer) => sharp(file).png({ palette: true }).toBuffer()],
  ['with 16 bits', (file: Buffer) => sharp(file).toColourspace('rgb16').png().toBuffer()],
])('an image %s is decoded as RGB', async (_, convert) => {
  const flat: ColourAt = () => [90, 90, 90];
  const found = await decoded(await convert(await imageFile(4, 3, flat)), []);
  expect(largestDifference(found, expected(4, 3, flat))).toBeLessThanOrEqual(1);
});

describe('CenterCrop', () => {
  // [size, image, left, top]: torchvision rounds halves to even.
  test.each([
    [[4, 4], [8, 6], 2, 1],
    [[4, 4], [7, 9], 2, 2],
    [[3, 2], [6, 3], 2, 0],
  ] as const)('of %j takes the middle of %j', async ([height, width], [from, to], left, top) => {
    const found = await decoded(await imageFile(from, to), [new CenterCrop([height, width])]);
    expect(found).toEqual(expected(width, height, (x, y) => gradient(x + left, y + top)));
  });

  test('adds black borders to a smaller image', async () => {
    const found = await decoded(await imageFile(2, 3), [new CenterCrop(4)]);
    const inside = (x: number, y: number) => x >= 1 && x < 3 && y < 3;
    expect(found).toEqual(expected(4, 4, (x, y) => (inside(x, y) ? gradient(x - 1, y) : [0, 0, 0])));
  });
});

describe('Resize', () => {
  test.each([
    [6, [12, 20], [6, 10]],
    [6, [20, 12], [10, 6]],
    [5, [7, 11], [5, 7]],
    [[3, 9] as const, [12, 20], [9, 3]],
  ] as const)('to %j gives %j the size %j', async (size, [width, height], [newWidth, newHeight]) => {
    const found = await decoded(await imageFile(width, height), [new Resize(size)]);
    expect([found[0][0].length, found[0].length]).toEqual([newWidth, newHeight]);
  });

  test('averages the pixels that it joins', async () => {
    const columns: ColourAt = (x) => (x % 2 === 0 ? [0, 40, 80] : [100, 60, 120]);
    const found = await decoded(await imageFile(32, 16, columns), [new Resize([8, 16])]);
    const inner = found.map((plane) => plane.slice(1, -1).map((row) => row.slice(2, -2)));
    // A triangle over two pixels to each side: weights 1, 3, 3, 1.
    for (const [channel, value] of [50, 50, 100].entries())
      for (const level of inner[channel].flat()) expect(Math.abs(level - value)).toBeLessThanOrEqual(1);
  });

  test('is applied before or after a crop, in the listed order', async () => {
    const halves: ColourAt = (x) => (x < 8 ? [200, 0, 0] : [0, 200, 0]);
    const file = await imageFile(16, 8, halves);
    const cropFirst = await decoded(file, [new CenterCrop([8, 4]), new Resize([4, 8]), new CenterCrop(2)]);
    expect(cropFirst[0][0]).toHaveLength(2);
    // The middle of the middle: both colours meet there.
    expect(Math.abs(cropFirst[0][0][0] + cropFirst[1][0][0] - 200)).toBeLessThanOrEqual(4);
    const resizeFirst = await decoded(file, [new Resize([4, 8]), new CenterCrop([4, 2]), new Resize([4, 4])]);
    expect([resizeFirst[0].length, resizeFirst[0][0].length]).toEqual([4, 4]);
    expect(resizeFirst[0][1][0]).toBeGreaterThan(resizeFirst[0][1][3]);
  });
});

describe('RandomResizedCrop', () => {
  const crop = new RandomResizedCrop([6, 5]);

  test('depends on seed, epoch and image only', async () => {
    const file = await imageFile(40, 30);
    const first = await decoded(file, [crop]);
    expect([first[0].length, first[0][0].length]).toEqual([6, 5]);
    expect(await decoded(file, [crop])).toEqual(first);
    expect(await decoded(file, [crop], [2])).not.toEqual(first);
    expect(await decoded(file, [crop], [1], { seed: 3, epoch: 1 })).not.toEqual(first);
    expect(await decoded(file, [crop], [1], { seed: 4, epoch: 0 })).not.toEqual(first);
  });

  test('of the whole area and the ratio of the image is the image', async () => {
    const whole = new RandomResizedCrop([30, 40], { scale: [1, 1], ratio: [4 / 3, 4 / 3] });
    expect(await decoded(await imageFile(40, 30), [whole])).toEqual(expected(40, 30, gradient));
  });

  test('falls back to the largest part in the middle', async () => {
    const wide = new RandomResizedCrop([10, 10], { scale: [1, 1], ratio: [1, 1] });
    const found = await decoded(await imageFile(30, 10), [wide]);
    expect(found).toEqual(expected(10, 10, (x, y) => gradient(x + 10, y)));
  });
});

test('transforms in memory follow, with the random numbers of the image', async () => {
  const rest = [
    new RandomCrop(4, { padding: 1 }),
    new RandomHorizontalFlip(),
    new ToTensor(),
    new Normalize([0.5, 0.5, 0.5], [0.5, 0.25, 0.5]),
  ];
  const decoder = new ImageDecoder([new Resize([6, 6]), ...rest]);
  const bytes = await imageFile(9, 9);
  const file = (identity: number) => ({
    name: `${identity}.png`,
    bytes,
    label: BigInt(identity),
    identity: [identity],
  });
  const samples = await decoder.decode([file(1), file(2)], pass);
  expect(samples.map(({ label, image }) => [label, image.shape])).toEqual([
    [1n, [3, 4, 4]],
    [2n, [3, 4, 4]],
  ]);
  const [alone] = await decoder.decode([file(2)], pass);
  expect(samples[1].image.data).toEqual(alone.image.data);
  // One array for the batch.
  expect(samples[0].image.data.buffer).toBe(samples[1].image.data.buffer);
});

test('images of different sizes may get one size after other transforms', async () => {
  const transforms = [
    new RandomHorizontalFlip({ p: 1 }),
    new ColorJitter({ brightness: [0.5, 0.5] }),
    new Resize([4, 6]),
    new ToTensor(),
  ];
  const flat: ColourAt = () => [200, 100, 50];
  const files = await Promise.all(
    [
      [8, 9],
      [5, 3],
      [8, 9],
    ].map(async ([width, height], index) => {
      const bytes = await imageFile(width, height, flat);
      return { name: `${index}.png`, bytes, label: 0n, identity: [index] };
    }),
  );
  const samples = await new ImageDecoder(transforms).decode(files, pass);
  for (const { image } of samples) {
    expect(image.shape).toEqual([3, 4, 6]);
    const expectedLevels = [100, 50, 25].flatMap((level) => new Array<number>(24).fill(level));
    expect(Array.from(image.data, (value) => Math.round(value * 255))).toEqual(expectedLevels);
  }
});

describe('names the file', () => {
  const decode = async (...files: Uint8Array[]) =>
    await new ImageDecoder([new ToTensor()]).decode(
      files.map((bytes, index) => ({ name: `photos/${index}.png`, bytes, label: 0n, identity: [index] })),
      pass,
    );

  test('that ends early, is empty, or is not an image', async () => {
    const whole = await imageFile(40, 40);
    const jpeg = await imageFile(200, 200, gradient, 'jpeg');
    for (const damaged of [
      whole.subarray(0, whole.length / 2),
      jpeg.subarray(0, 3000),
      new Uint8Array(0),
      Buffer.from('text'),
    ])
      await expect(decode(whole, damaged)).rejects.toThrow(
        'photos/1.png: expected a complete image, but it cannot be decoded',
      );
  });

  test('that has another size than the rest of the batch', async () => {
    await expect(decode(await imageFile(4, 5), await imageFile(5, 4))).rejects.toThrow(
      'photos/1.png: expected 5 x 4 pixels, as photos/0.png of the same batch has, got 4 x 5. Put new Resize([height, width])',
    );
  });
});

test.each([
  [
    [new ToTensor(), new Resize(4)],
    'Resize: expected it before ToTensor, got it after. Put Resize before ToTensor.',
  ],
  [[new Resize(4)], 'expected a ToTensor among the transforms'],
])('transforms %j are refused', (transforms, message) => {
  expect(() => new ImageDecoder(transforms)).toThrow(message);
});

test.each([
  [() => new Resize(0), 'size must be an integer of at least 1, got 0'],
  [() => new CenterCrop([3, -1]), 'size must be an integer of at least 1, got -1'],
  [() => new RandomResizedCrop(3, { scale: [0.5, 0.2] }), 'scale must be two positive numbers'],
])('%s is refused', (create, message) => {
  expect(create).toThrow(message);
});
