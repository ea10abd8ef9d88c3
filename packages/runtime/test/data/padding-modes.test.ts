import { expect, test } from 'vitest';
import { InvalidArgumentError } from '@ringrun/core';
import { Random, mixed } from '../../src/data/random.ts';
import { Compose, Pad, RandomCrop, RandomVerticalFlip, ToTensor } from '../../src/data/transforms/index.ts';
import type { PaddingMode, Transform } from '../../src/data/transforms/index.ts';
import { Pipeline } from '../../src/data/transforms/pipeline.ts';

// Borders of an image's own pixels in a pipeline. transforms-golden.test.ts compares them with torchvision's.

const shape = [1, 3, 4] as const;
const pixels = Uint8Array.from({ length: 12 }, (_, i) => i);

function run(transforms: Transform[], seed = 0): number[] {
  const pipeline = new Pipeline(new Compose([...transforms, new ToTensor()]).transforms, shape);
  const target = new Float32Array(pipeline.shape.reduce((product, length) => product * length, 1));
  pipeline.run(pixels, [{ index: 0, random: new Random(mixed(seed)) }], target);
  return Array.from(target, (value) => Math.round(value * 255));
}

test.each([
  ['edge', [0, 0, 1, 2, 3, 3, 3]],
  ['reflect', [1, 0, 1, 2, 3, 2, 1]],
  ['symmetric', [0, 0, 1, 2, 3, 3, 2]],
] as [PaddingMode, number[]][])('%s shows the pixels at the border', (paddingMode, row) => {
  expect(run([new Pad([1, 0, 2, 0], { paddingMode })])).toEqual(
    [0, 4, 8].flatMap((first) => row.map((x) => x + first)),
  );
});

test('a crop with a mode draws the numbers of one with black borders, and crops the padded image', () => {
  for (let seed = 0; seed < 20; seed += 1) {
    const cropped = run([new RandomCrop([3, 4], { padding: 2, paddingMode: 'reflect' })], seed);
    expect(cropped).toEqual(run([new Pad(2, { paddingMode: 'reflect' }), new RandomCrop([3, 4])], seed));
    const black = run([new RandomCrop([3, 4], { padding: 2 })], seed);
    for (const [i, level] of black.entries()) if (level > 0) expect(cropped[i]).toBe(level);
  }
});

test('borders of several kinds follow each other, and transforms before them are seen in them', () => {
  const flipped = run([
    new RandomVerticalFlip({ p: 1 }),
    new Pad([0, 1], { paddingMode: 'edge' }),
    new Pad([1, 0]),
  ]);
  const rows = [8, 8, 4, 0, 0].map((first) => [0, first, first + 1, first + 2, first + 3, 0]);
  expect(flipped).toEqual(rows.flat());
});

test.each([
  [
    () => new Pad(1, { paddingMode: 'wrap' as never }),
    "Pad: paddingMode must be 'constant', 'edge', 'reflect' or 'symmetric', got \"wrap\".",
  ],
  [
    () => run([new Pad(3, { paddingMode: 'reflect' })]),
    "Pad: expected a reflect padding of at most 3 x 2 for images of 4 x 3, got [3, 3, 3, 3]. Pad less, or choose 'edge'.",
  ],
  [
    () => run([new RandomCrop(2, { padding: 4, paddingMode: 'symmetric' })]),
    'RandomCrop: expected a symmetric padding of at most 4 x 3',
  ],
  [
    () => new Pipeline([new ToTensor(), new Pad(1, { paddingMode: 'edge' })], shape),
    "Pad: expected paddingMode 'edge' before ToTensor, got it after. Put Pad before ToTensor.",
  ],
])('%#: names what does not fit', (act, message) => {
  expect(act).toThrow(InvalidArgumentError);
  expect(act).toThrow(message);
});
