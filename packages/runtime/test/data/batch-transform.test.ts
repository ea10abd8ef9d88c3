import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from '@ringrun/core';
import { F, tensor } from '@ringrun/nn';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { DataLoader, DistributedSampler, ImageDataset, transforms } from '../../dist/data/index.js';
import { defaultCollate } from '../../src/data/collate.ts';
import type { ClassBatch } from '../../src/data/data-loader-options.ts';
import { Random, mixed } from '../../src/data/random.ts';
import {
  mixedLabels,
  mixImages,
  mixingOf,
  transformBatch,
} from '../../src/data/transforms/batch-transform.ts';
import { CutMix, MixUp, RandomChoice } from '../../src/data/transforms/mix.ts';
import { images } from './noise-images.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../support/plain-workers.ts');
  return await plainWorkers(original);
});

describe('torchvision’s bits:', () => {
  const file = readFileSync(new URL('golden/transforms.json', import.meta.url), 'utf8');
  const { mix } = JSON.parse(file) as {
    mix: {
      shape: number[];
      images: number[];
      labels: number[];
      numClasses: number;
      mixUp: { lambda: number; image: number[]; label: number[] };
      cutMix: { box: [number, number, number, number]; image: number[]; label: number[] };
    };
  };
  const labels = BigInt64Array.from(mix.labels, BigInt);
  const { numClasses, shape } = mix;

  test('MixUp', () => {
    const { lambda, image, label } = mix.mixUp;
    const data = Float32Array.from(mix.images);
    mixImages({ data, shape }, { lambda, box: undefined });
    expect([...data]).toEqual(image.map(Math.fround));
    expect([...mixedLabels(new MixUp({ numClasses }), labels, lambda)]).toEqual(label.map(Math.fround));
  });

  test('CutMix', () => {
    const { box, image, label } = mix.cutMix;
    const lambda = 1 - 9 / 30;
    const data = Float32Array.from(mix.images);
    mixImages({ data, shape }, { lambda, box });
    expect([...data]).toEqual(image.map(Math.fround));
    expect([...mixedLabels(new CutMix({ numClasses }), labels, lambda)]).toEqual(label.map(Math.fround));
  });
});

describe('random numbers', () => {
  test.each([
    [0.2, 0.25 / 1.4],
    [1, 0.25 / 3],
    [4, 0.25 / 9],
  ])('lambda is from Beta(%d, %d)', (alpha, variance) => {
    const random = new Random(mixed(3));
    const drawn = Array.from({ length: 20_000 }, () => random.beta(alpha));
    const mean = drawn.reduce((sum, value) => sum + value, 0) / drawn.length;
    const found = drawn.reduce((sum, value) => sum + (value - 0.5) ** 2, 0) / drawn.length;
    expect(mean).toBeCloseTo(0.5, 1.9);
    expect(found / variance).toBeCloseTo(1, 1.3);
    expect(drawn.every((value) => value >= 0 && value <= 1)).toBe(true);
  });

  test('lambda of CutMix is the area that an image keeps', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const { lambda, box } = mixingOf(new CutMix({ numClasses: 2 }), [4, 3, 9, 13], new Random(mixed(seed)));
      const [left, top, right, bottom] = box!;
      expect(Math.min(left, top, right - left, bottom - top)).toBeGreaterThanOrEqual(0);
      expect(right <= 13 && bottom <= 9).toBe(true);
      expect(lambda).toBe(1 - ((right - left) * (bottom - top)) / 117);
    }
  });

  test('RandomChoice applies its transforms with their probabilities', () => {
    const choice = new RandomChoice([new CutMix({ numClasses: 2 }), new MixUp({ numClasses: 3 })], {
      p: [0.2, 0.8],
    });
    let cuts = 0;
    for (let seed = 0; seed < 1000; seed += 1) {
      const image = { data: new Float32Array(8), shape: [2, 1, 2, 2] };
      const batch = { image, label: { data: BigInt64Array.of(0n, 1n), shape: [2] } };
      const { label } = transformBatch(choice, batch, new Random(mixed(seed)));
      cuts += label.shape[1] === 2 ? 1 : 0;
    }
    // 5 standard deviations.
    expect(Math.abs(cuts - 200)).toBeLessThan(64);
  });
});

/** All batches as lists of numbers. */
async function all(
  loader: AsyncIterable<{ image: { data: Float32Array }; label: { data: ArrayLike<unknown> } }>,
) {
  const list: { image: number[]; label: unknown[] }[] = [];
  for await (const { image, label } of loader)
    list.push({ image: [...image.data], label: Array.from(label.data) });
  return list;
}

describe('a loader with batchTransform', () => {
  const batchTransform = new transforms.RandomChoice([
    new transforms.MixUp({ numClasses: 10 }),
    new transforms.CutMix({ numClasses: 10, alpha: 0.7 }),
  ]);

  test('mixes the batches of the loader without it, the same on any number of workers', async () => {
    const options = { batchSize: 6, shuffle: true, seed: 5 };
    const plain = await all(new DataLoader(images(20), options));
    const here = await all(new DataLoader(images(20), { ...options, batchTransform }));
    expect(here).toHaveLength(4);
    expect(here).not.toEqual(plain);
    for (const { label } of here)
      for (let i = 0; i < label.length; i += 10)
        expect((label as number[]).slice(i, i + 10).reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 5);
    for (const reuseMemory of [false, true]) {
      const workers = { ...options, batchTransform, numWorkers: 2, reuseMemory };
      expect(await all(new DataLoader(images(20), workers))).toEqual(here);
    }
    const atOnce = [...new DataLoader(images(20), { ...options, batchTransform })];
    expect(atOnce.map(({ image }) => [...image.data])).toEqual(here.map(({ image }) => image));
  });

  test('repeats the numbers of a batch after resuming, and draws others in the next epoch', async () => {
    const make = () => {
      const sampler = new DistributedSampler(20, { numReplicas: 1, rank: 0, seed: 8 });
      return new DataLoader(images(20), { batchSize: 5, sampler, batchTransform });
    };
    const whole = make();
    const first = await all(whole);
    const second = await all(whole);
    const resumed = make();
    const batches = resumed[Symbol.asyncIterator]();
    await batches.next();
    await batches.return();
    const state = resumed.stateDict();
    const rest = make();
    rest.loadStateDict(state);
    expect(await all(rest)).toEqual(first.slice(1));
    expect(second).not.toEqual(first);
  });

  test('creates targets of crossEntropy', async () => {
    const mixUp = new transforms.MixUp({ numClasses: 10 });
    for await (const { label } of new DataLoader(images(4), { batchSize: 4, batchTransform: mixUp })) {
      const loss = F.crossEntropy(tensor(new Float32Array(40), [4, 10]), tensor(label.data, label.shape));
      expect(await loss.item()).toBeCloseTo(Math.log(10), 5);
    }
  });
});

describe('rejects', () => {
  const image = { data: new Float32Array(8), shape: [2, 1, 2, 2] };
  const label = { data: BigInt64Array.of(0n, 3n), shape: [2] };
  const mix = (batch: unknown) => () => transformBatch(new MixUp({ numClasses: 3 }), batch, new Random(1));
  test.each<[string, () => unknown, string]>([
    ['a label that is no class', mix({ image, label }), 'MixUp: expected labels from 0 to 2, got 3'],
    ['another batch', mix({ picture: image, label }), 'int64 classes `label` [n], got picture, label'],
    [
      'images that are not',
      mix({ image: { ...image, shape: [2, 4] }, label }),
      'got of shapes [2,4] and [2]',
    ],
    [
      'alpha 0',
      () => new CutMix({ numClasses: 3, alpha: 0 }),
      'CutMix: alpha must be a number above 0, got 0',
    ],
    ['no classes', () => new MixUp({ numClasses: 0 }), 'numClasses must be an integer of at least 1, got 0'],
    ['no choice', () => new RandomChoice([]), 'expected at least one transform, got none'],
    [
      'probabilities below 1',
      () => new RandomChoice([new MixUp({ numClasses: 3 })], { p: [0.5] }),
      'expected p of 1 probabilities with the sum 1, got [0.5]',
    ],
  ])('%s', (_, act, message) => {
    expect(act).toThrow(InvalidArgumentError);
    expect(act).toThrow(message);
  });
});

test.each([0, 2])('batches of collateFn are mixed like others, with %d workers', async (numWorkers) => {
  const batchTransform = new transforms.MixUp({ numClasses: 10 });
  const options = { batchSize: 4, shuffle: true, seed: 3, batchTransform };
  const collateFn = (samples: { image: never; label: bigint }[]) =>
    ({ ...defaultCollate(samples), note: 'kept' }) as unknown as ClassBatch;
  const make = () => new DataLoader(images(8) as never, { ...options, numWorkers, collateFn });
  expect(await all(make())).toEqual(await all(new DataLoader(images(8), options)));
  for await (const batch of make()) {
    expect(batch).toMatchObject({ note: 'kept', label: { shape: [4, 10] } });
  }
});

test('augmented images are the same for 0 and 2 workers', async () => {
  const { Compose, ColorJitter, Pad, RandomAffine, RandomErasing, RandomResizedCrop, ToTensor } = transforms;
  const transform = new Compose([
    new Pad(1, { fill: [3, 4, 5] }),
    new RandomResizedCrop([6, 7]),
    new ColorJitter(0.4, 0.4, 0.4, 0.1),
    new RandomAffine(20, { translate: [0.2, 0.1], interpolation: 'bilinear' }),
    new ToTensor(),
    new RandomErasing({ value: 'random' }),
  ]);
  const dataset = new ImageDataset({
    title: 'noise',
    pixels: new Uint8Array(new SharedArrayBuffer(24 * 48)).map((_, i) => Math.imul(i, 2654435761) >>> 24),
    labels: new Uint8Array(24),
    shape: [3, 4, 4],
    transforms: transform.transforms,
  });
  const options = { batchSize: 5, shuffle: true, seed: 2 };
  const here = await all(new DataLoader(dataset, options));
  expect(await all(new DataLoader(dataset, { ...options, numWorkers: 2 }))).toEqual(here);
});
