import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { DataLoader, ImageShards, transforms } from '../../../dist/data/index.js';
import { imageFile } from '../images/image-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { tarOf } from './tar-of.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../../support/plain-workers.ts');
  return await plainWorkers(original);
});

/** Sample i is an image of red i, in PNG and JPEG in turn, with class i. */
async function shards(counts: readonly number[]): Promise<string[]> {
  const folder = temporaryFolder();
  let number = 0;
  const paths: string[] = [];
  for (const [index, count] of counts.entries()) {
    const members: [string, Uint8Array | string][] = [];
    for (let i = 0; i < count; i += 1, number += 1) {
      const red = number;
      const format = number % 2 === 0 ? 'png' : 'jpeg';
      members.push(
        [`${number}.${format}`, await imageFile(4, 4, () => [red, 0, 0], format)],
        [`${number}.cls`, `${number}\n`],
      );
    }
    paths.push(join(folder, `${index}.tar`));
    writeFileSync(paths[index], tarOf(members));
  }
  return paths;
}

async function all<T>(batches: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const batch of batches) list.push(batch);
  return list;
}

test.each([0, 2])(
  'images and classes reach a loop together, each once, with %i workers',
  async (numWorkers) => {
    const dataset = new ImageShards(await shards([9, 5, 8]), { shuffle: true, bufferSize: 5 });
    for (const reuseMemory of [false, true]) {
      const loader = new DataLoader(dataset, {
        batchSize: 4,
        numWorkers,
        reuseMemory,
        persistentWorkers: true,
      });
      const orders = [];
      for (let epoch = 0; epoch < 2; epoch += 1) {
        const labels: number[] = [];
        for await (const { image, label } of loader) {
          expect(image.shape).toEqual([label.data.length, 3, 4, 4]);
          for (const [position, number] of Array.from(label.data, Number).entries()) {
            labels.push(number);
            // JPEG changes a level or two.
            expect(Math.abs(image.data[position * 48] * 255 - number)).toBeLessThan(4);
          }
        }
        orders.push(labels.join());
        expect(labels.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, i) => i));
      }
      expect(orders[0]).not.toBe(orders[1]);
    }
  },
);

test('a loader with workers resumes mid-epoch and visits each remaining image once', async () => {
  const paths = await shards([7, 6, 9]);
  const loader = () =>
    new DataLoader(new ImageShards(paths, { shuffle: true, bufferSize: 4 }), { batchSize: 3, numWorkers: 2 });
  const labelsOf = (batches: { label: { data: BigInt64Array } }[]) =>
    batches.map(({ label }) => label.data.join());
  const first = loader();
  const batches = first[Symbol.asyncIterator]();
  const before = [];
  for (let step = 0; step < 4; step += 1) before.push((await batches.next()).value!);
  const resumed = loader();
  resumed.loadStateDict(structuredClone(first.stateDict()));
  const rest = labelsOf(await all(resumed));
  expect(rest).toEqual(labelsOf(await all(batches)));
  const seen = [...labelsOf(before), ...rest].join().split(',').map(Number);
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 22 }, (_, i) => i));
});

test('random transforms of an image do not depend on workers and shares', async () => {
  const transform = new transforms.Compose([
    new transforms.RandomCrop(3, { padding: 2 }),
    new transforms.ToTensor(),
  ]);
  const dataset = new ImageShards(await shards([6, 6]), { transform });
  const imagesOf = async (options: object) => {
    const batches = await all(new DataLoader(dataset, { batchSize: 1, seed: 5, ...options }));
    return new Map(batches.map(({ image, label }) => [label.data[0], image.data.join()]));
  };
  const alone = await imagesOf({});
  expect(alone.size).toBe(12);
  const two = await imagesOf({ numWorkers: 2 });
  const second = await imagesOf({ numReplicas: 2, rank: 1 });
  expect(two).toEqual(alone);
  for (const [label, image] of second) expect(image).toBe(alone.get(label));
  expect(second.size).toBe(6);
});

describe('an error names shard and member for', () => {
  test.each<[string, [string, Uint8Array | string][], string]>([
    [
      'a damaged image',
      [
        ['a/7.png', 'no image'],
        ['a/7.cls', '1'],
      ],
      ': a/7.png: expected a complete image',
    ],
    [
      'a sample without image',
      [
        ['7.txt', ''],
        ['7.cls', '1'],
      ],
      ': 7: expected an image (.jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp), in the sample, got .txt, .cls',
    ],
    ['a sample without class', [['7.png', '']], ': 7: expected a class, .cls, in the sample, got .png'],
    [
      'a class that is not a number',
      [
        ['7.png', ''],
        ['7.cls', 'cat'],
      ],
      ': 7.cls: expected the number of a class, got "cat"',
    ],
  ])('%s', async (_, members, message) => {
    const path = join(temporaryFolder(), 'bad.tar');
    writeFileSync(path, tarOf(members));
    for (const numWorkers of [0, 1])
      await expect(all(new DataLoader(new ImageShards(path), { numWorkers }))).rejects.toThrow(
        path + message,
      );
  });
});
