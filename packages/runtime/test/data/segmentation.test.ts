import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import {
  DataLoader,
  SegmentationDataset,
  loadSegmentationFolder,
  transforms as t,
} from '../../dist/data/index.js';
import type { LoadSegmentationFolderOptions, SegmentationParts } from '../../dist/data/index.js';
import { Random } from '../../src/data/random.ts';
import { inverseAffineMatrix } from '../../src/data/transforms/affine-matrix.ts';
import { RandomResizedCrop, RandomRotation, Resize } from '../../src/data/transforms/index.ts';
import { NearestResizeStage } from '../../src/data/transforms/stages/mask.ts';
import type { ByteStage, ImageShape } from '../../src/data/transforms/stages/stage.ts';
import { WarpStage } from '../../src/data/transforms/stages/warp.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../support/plain-workers.ts');
  return await plainWorkers(original);
});

interface Golden {
  shape: [number, number];
  data: number[];
}
const golden = JSON.parse(readFileSync(new URL('golden/masks.json', import.meta.url), 'utf8')) as {
  mask: Golden;
  resized: (Golden & { size: [number, number] })[];
  parts: (Golden & { size: [number, number]; part: [number, number, number, number] })[];
  rotated: (Golden & { angle: number; fill: number })[];
  fixed: Record<'CenterCrop' | 'Pad' | 'RandomHorizontalFlip' | 'RandomVerticalFlip', Golden>;
};
const [height, width] = golden.mask.shape;
const shape: ImageShape = [1, height, width];

function applied<Drawn>(stage: ByteStage<Drawn>, drawn: Drawn): Golden {
  const [, rows, columns] = stage.shape;
  const to = new Uint8Array(rows * columns);
  stage.apply({ pixels: Uint8Array.from(golden.mask.data), indices: [0] }, [drawn], to);
  return { shape: [rows, columns], data: [...to] };
}

describe('masks equal those of torchvision', () => {
  test.each(golden.resized)('resized to $size', ({ size, ...expected }) => {
    const stage = new NearestResizeStage(shape, new Resize(size));
    expect(applied(stage, stage.draw(new Random(0)))).toEqual(expected);
  });

  test.each(golden.parts)('cropped to $part and resized to $size', ({ size, part, ...expected }) => {
    const [top, left, rows, columns] = part;
    const stage = new NearestResizeStage(shape, new RandomResizedCrop(size));
    expect(applied(stage, { top, left, height: rows, width: columns })).toEqual(expected);
  });

  test.each(golden.rotated)('rotated by $angle', ({ angle, fill, ...expected }) => {
    const stage = new WarpStage(shape, new RandomRotation(0, { fill }));
    const matrix = inverseAffineMatrix({
      angle: -angle,
      translate: [0, 0],
      scale: 1,
      shear: [0, 0],
      center: [0, 0],
    });
    expect(applied(stage, matrix)).toEqual(expected);
  });

  test.each([
    ['CenterCrop', new t.CenterCrop([20, 9]), 0],
    ['Pad', new t.Pad([1, 2, 3, 4]), 7],
    ['RandomHorizontalFlip', new t.RandomHorizontalFlip({ p: 1 }), 0],
    ['RandomVerticalFlip', new t.RandomVerticalFlip({ p: 1 }), 0],
  ] as const)('after %s', (name, transform, maskFill) => {
    const dataset = new SegmentationDataset({
      ...{ title: 'masks', shape, transforms: [transform, new t.ToTensor()], maskFill },
      pixels: new Uint8Array(height * width),
      masks: Uint8Array.from(golden.mask.data),
    });
    const { data, shape: found } = dataset.at(0).mask;
    expect({ shape: found, data: Array.from(data, Number) }).toEqual(golden.fixed[name]);
  });
});

/** Images whose three channels are their masks. */
function equalPairs(count: number, transforms: SegmentationParts['transforms']): SegmentationDataset {
  const [rows, columns] = [20, 26];
  const area = rows * columns;
  const masks = Uint8Array.from(
    { length: count * area },
    (_, i) => 1 + ((i * 7 + Math.floor(i / area)) % 250),
  );
  const pixels = new Uint8Array(3 * count * area);
  for (let image = 0; image < count; image += 1)
    for (let channel = 0; channel < 3; channel += 1)
      pixels.set(masks.subarray(image * area, (image + 1) * area), (3 * image + channel) * area);
  return new SegmentationDataset({ title: 'pairs', shape: [3, rows, columns], pixels, masks, transforms });
}

const moves = [
  new t.RandomRotation(40),
  new t.RandomCrop([18, 22], { padding: 2 }),
  new t.RandomHorizontalFlip(),
  new t.RandomAffine(20, { translate: [0.1, 0.2], scale: [0.8, 1.2] }),
  new t.RandomVerticalFlip(),
  new t.RandomCrop(12),
];

describe('an image and its mask', () => {
  test('are moved in the same way by random transforms, which differ among samples and epochs', () => {
    const dataset = equalPairs(8, [...moves, new t.ToTensor()]);
    const seen = new Set<string>();
    for (const epoch of [0, 1])
      for (let index = 0; index < 8; index += 1) {
        const { image, mask } = dataset.at(index, { seed: 5, epoch });
        expect(mask.shape).toEqual([12, 12]);
        const classes = Array.from(mask.data, Number);
        for (const channel of [0, 1, 2]) {
          const levels = Array.from(image.data.subarray(144 * channel, 144 * (channel + 1)), (x) =>
            Math.round(255 * x),
          );
          expect(levels).toEqual(classes);
        }
        seen.add(classes.join());
      }
    expect(seen.size).toBe(16);
  });

  test('draw the same numbers after changes of colours, which masks do not show', () => {
    const without = equalPairs(4, [...moves, new t.ToTensor()]);
    const colours = [new t.ColorJitter(0.4, 0.4, 0.4, 0.2), new t.RandomGrayscale({ p: 0.5 })];
    const transforms = [...colours, ...moves, new t.ToTensor(), new t.Normalize([0, 0, 0], [2, 2, 2])];
    const coloured = equalPairs(4, [...transforms, new t.RandomErasing({ p: 1, value: 'random' })]);
    for (let index = 0; index < 4; index += 1) {
      const { mask, image } = coloured.at(index, { seed: 5, epoch: 0 });
      expect(mask.data.every((one) => one >= 0n && one <= 250n)).toBe(true);
      expect(image.data).not.toEqual(without.at(index, { seed: 5, epoch: 0 }).image.data);
      // A pixel outside of the image is black and of class 0, whatever the colours are.
      const plain = equalPairs(4, transforms).at(index, { seed: 5, epoch: 0 });
      expect(plain.mask.data).toEqual(mask.data);
      plain.mask.data.forEach((one, pixel) => {
        if (one === 0n) expect(plain.image.data[pixel]).toBe(0);
        else expect(plain.image.data[pixel] + plain.image.data[pixel + 144]).toBeGreaterThanOrEqual(0);
      });
    }
  });

  test('come from worker threads as without them', async () => {
    const dataset = equalPairs(6, [...moves, new t.ToTensor()]);
    const batches = async (numWorkers: number) => {
      const list = [];
      const options = { batchSize: 2, shuffle: true, seed: 3, numWorkers };
      for await (const batch of new DataLoader(dataset, options)) list.push(batch);
      return list;
    };
    const without = await batches(0);
    expect(without[0].mask.shape).toEqual([2, 12, 12]);
    expect(await batches(1)).toEqual(without);
  });
});

describe('a folder of images and masks', () => {
  async function folderOf(names: readonly string[], size = { width: 9, height: 7 }): Promise<string> {
    const folder = temporaryFolder();
    for (const part of ['images', 'labels']) mkdirSync(join(folder, part));
    for (const [index, name] of names.entries()) {
      const pixels = (channels: 1 | 3) =>
        sharp(Buffer.alloc(size.width * size.height * channels, index + 1), { raw: { ...size, channels } });
      await pixels(3)
        .png()
        .toFile(join(folder, 'images', `${name}.png`));
      await pixels(1)
        .toColourspace('b-w')
        .png()
        .toFile(join(folder, 'labels', `${name}_P.png`));
    }
    return folder;
  }
  const options: LoadSegmentationFolderOptions = { maskSuffix: '_P' };

  test('has its pairs, with the levels of the masks as classes', async () => {
    const dataset = await loadSegmentationFolder(await folderOf(['b', 'a']), options);
    expect(dataset.pairs).toEqual([
      ['images/a.png', 'labels/a_P.png'],
      ['images/b.png', 'labels/b_P.png'],
    ]);
    for await (const { image, mask } of new DataLoader(dataset, { batchSize: 2, numWorkers: 1 })) {
      expect(image.shape).toEqual([2, 3, 7, 9]);
      expect(mask).toEqual({
        shape: [2, 7, 9],
        data: BigInt64Array.from({ length: 126 }, (_, i) => (i < 63 ? 2n : 1n)),
      });
    }
  });

  test('is refused with the file that does not fit', async () => {
    const folder = await folderOf(['a']);
    const at = (options: LoadSegmentationFolderOptions) => loadSegmentationFolder(folder, options);
    await expect(at({})).rejects.toThrow(`${folder}/images/a.png: expected a mask labels/a, got none`);
    await expect(at({ images: 'none' })).rejects.toThrow('expected images');
    await expect(at({ ...options, maskFill: 256 })).rejects.toThrow(
      'maskFill: expected a class from 0 to 255, got 256',
    );
    const colours = sharp(Buffer.alloc(189), { raw: { width: 9, height: 7, channels: 3 } });
    const mask = join(folder, 'labels', 'a_P.png');
    const dataset = await at(options);
    for (const [file, message] of [
      [colours.clone().png(), 'got 3 channels'],
      [colours.clone().png({ palette: true }), 'got colours of a palette'],
      [
        colours.clone().toColourspace('b-w').resize(8, 7).png(),
        'expected a mask of 7 x 9 pixels, as its image images/a.png has, got 7 x 8',
      ],
    ] as const) {
      await file.toFile(mask);
      await expect(dataset.at(0)).rejects.toThrow(`${mask}: `);
      await expect(dataset.at(0)).rejects.toThrow(message);
    }
  });
});
