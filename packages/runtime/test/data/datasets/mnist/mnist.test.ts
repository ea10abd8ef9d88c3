import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { InvalidDataError } from '../../../../src/data/datasets/invalid-data-error.ts';
import { mnistFiles } from '../../../../src/data/datasets/mnist/files.ts';
import { encodeIdx } from '../../../../src/data/datasets/mnist/idx.ts';
import { loadMnist } from '../../../../src/data/datasets/mnist/load-mnist.ts';
import { openStorage } from '../../../../src/storage/index.ts';
import { startS3, useS3 } from '../../../support/s3.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const realMnist = fileURLToPath(new URL('../../../../../../../shared/data/mnist', import.meta.url));

interface Contents {
  labels?: number[];
  images?: number;
  rows?: number;
}

/** A folder with a small test split: pixel p of image i is the byte (i + p) % 256. */
function folderWith({ labels = [3, 0, 9], images = labels.length, rows = 28 }: Contents): string {
  const folder = temporaryFolder();
  const data = Uint8Array.from({ length: images * rows * 28 }, (_, at) => Math.floor(at / 784) + (at % 784));
  const imageFile = encodeIdx({ shape: [images, rows, 28], data });
  writeFileSync(join(folder, `${mnistFiles.test.images.name}.gz`), gzipSync(imageFile));
  const labelFile = encodeIdx({ shape: [labels.length], data: Uint8Array.from(labels) });
  writeFileSync(join(folder, mnistFiles.test.labels.name), labelFile);
  return folder;
}

const load = (location: string) => loadMnist({ split: 'test', location });

describe('samples', () => {
  test('have labels and normalised pixels, from plain and gzipped files', async () => {
    const dataset = await load(folderWith({ labels: [3, 0, 9] }));
    expect(dataset.length).toBe(3);
    expect([0, 1, 2].map((index) => dataset.at(index).label)).toEqual([3n, 0n, 9n]);
    const { data, shape } = dataset.at(2).image;
    expect(shape).toEqual([1, 28, 28]);
    const expected = Array.from({ length: 784 }, (_, pixel) => (((2 + pixel) % 256) / 255 - 0.1307) / 0.3081);
    expect([...data]).toEqual(expected.map(Math.fround));
  });

  test('have separate memory', async () => {
    const dataset = await load(folderWith({}));
    const first = dataset.at(0).image.data[5];
    dataset.at(0).image.data.fill(100);
    expect(dataset.at(0).image.data[5]).toBe(first);
  });

  test.each([-1, 3, 0.5, NaN])('throws for index %s', async (index) => {
    const dataset = await load(folderWith({}));
    expect(() => dataset.at(index)).toThrow(`MNIST: expected an index from 0 to 2, got ${index}.`);
  });
});

test('reads files from a bucket', async () => {
  useS3((await startS3('data')).port);
  const folder = folderWith({});
  for (const { name, bytes } of await openStorage(folder).list()) {
    expect(bytes).toBeGreaterThan(0);
    await openStorage('s3://data/sets/mnist').write(name, await openStorage(folder).read(name));
  }
  const [there, here] = [await load('s3://data/sets/mnist'), await load(folder)];
  expect(there.length).toBe(3);
  expect(there.at(2)).toEqual(here.at(2));
  await expect(load('s3://data/sets')).rejects.toThrow(
    's3://data/sets: it has no t10k-images-idx3-ubyte, nor t10k-images-idx3-ubyte.gz',
  );
});

describe('rejects, and names the file:', () => {
  const { images, labels } = mnistFiles.test;
  test.each<[string, Contents, string, string]>([
    ['a label above 9', { labels: [1, 2, 10] }, labels.name, 'label 2 is 10, not a digit from 0 to 9'],
    [
      'fewer labels than images',
      { labels: [1], images: 2 },
      labels.name,
      'it has 1 labels for the 2 images of /',
    ],
    [
      'images of another size',
      { rows: 27 },
      `${images.name}.gz`,
      'it has 3 images of 27 x 28, not at least 1 of 28 x 28',
    ],
    ['no images', { labels: [] }, `${images.name}.gz`, 'it has 0 images of 28 x 28'],
  ])('%s', async (_, contents, file, problem) => {
    const folder = folderWith(contents);
    await expect(load(folder)).rejects.toThrow(InvalidDataError);
    await expect(load(folder)).rejects.toThrow(`${join(folder, file)}: ${problem}`);
  });

  test('a missing file', async () => {
    const folder = folderWith({});
    await expect(loadMnist({ split: 'train', location: folder })).rejects.toThrow(
      `${folder}: it has no train-images-idx3-ubyte, nor train-images-idx3-ubyte.gz. Put it there`,
    );
  });
});

const problem = existsSync(realMnist) ? '' : `: skipped, no ${realMnist}`;

test.skipIf(problem)(`reads the real files${problem}`, async () => {
  const train = await loadMnist({ split: 'train', location: realMnist });
  const testing = await load(realMnist);
  expect([train.length, testing.length]).toEqual([60_000, 10_000]);
  expect([0, 1, 2, 3, 4].map((index) => train.at(index).label)).toEqual([5n, 0n, 4n, 1n, 9n]);
  expect([0, 1, 2, 3, 4].map((index) => testing.at(index).label)).toEqual([7n, 2n, 1n, 0n, 4n]);
  // Normalised by their own mean and deviation, they have nearly mean 0 and deviation 1. Every fifth image suffices; every
  // sixth does not, because images at even and odd places come from different groups of writers.
  let [sum, squares, count] = [0, 0, 0];
  for (let index = 0; index < train.length; index += 5) {
    for (const value of train.at(index).image.data) {
      sum += value;
      squares += value * value;
      count++;
    }
  }
  expect(sum / count).toBeCloseTo(0, 2);
  expect(squares / count).toBeCloseTo(1, 1);
});
