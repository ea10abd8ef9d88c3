import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
// What is built: threads of this Node may not run TypeScript.
import { DataLoader, loadImageFolder, loadObjects, transforms } from '../../../../dist/data/index.js';
import { openStorage } from '../../../../dist/storage/index.js';
import { imageFile } from '../../images/image-files.ts';
import { startS3, useS3 } from '../../../support/s3.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

vi.mock('node:worker_threads', async (original) => {
  const { plainWorkers } = await import('../../../support/plain-workers.ts');
  return await plainWorkers(original);
});

function folderOf(files: Readonly<Record<string, Uint8Array | string>>): string {
  const folder = temporaryFolder();
  for (const [name, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), contents);
  }
  return folder;
}

const red = (level: number, size = 4) => imageFile(size, size, () => [level, 0, 0]);

async function all<T>(batches: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const batch of batches) list.push(batch);
  return list;
}

test('classes are numbered by name, and images follow by class, folder and name', async () => {
  const image = await red(1);
  const folder = folderOf({
    'b/2.png': image,
    'b/10.JPG': image,
    'B/x.jpeg': image,
    'a/z/1.png': image,
    'a/z.png': image,
    'a/notes.txt': '',
    'readme.png': image,
  });
  const dataset = await loadImageFolder(folder);
  expect(dataset.classes).toEqual(['B', 'a', 'b']);
  expect(dataset.classToIdx).toEqual({ B: 0, a: 1, b: 2 });
  expect(dataset.samples).toEqual([
    ['B/x.jpeg', 0],
    ['a/z.png', 1],
    ['a/z/1.png', 1],
    ['b/10.JPG', 2],
    ['b/2.png', 2],
  ]);
});

const shades = async () =>
  Object.fromEntries(
    await Promise.all(
      [10, 20, 30, 40, 50].map(async (level) => [`${level % 20}/${level}.png`, await red(level, level)]),
    ),
  ) as Record<string, Buffer>;

async function expectShades(location: string, numWorkers: number): Promise<void> {
  const transform = new transforms.Compose([new transforms.Resize([6, 6]), new transforms.ToTensor()]);
  const dataset = await loadImageFolder(location, { transform });
  const loader = new DataLoader(dataset, { batchSize: 2, numWorkers, shuffle: true });
  const batches = await all(loader);
  expect(batches.map(({ image }) => image.shape)).toEqual([
    [2, 3, 6, 6],
    [2, 3, 6, 6],
    [1, 3, 6, 6],
  ]);
  const levels = batches.flatMap(({ image, label }) =>
    Array.from(label.data, (number, index) => {
      const level = Math.round(image.data[index * 108] * 255);
      expect(dataset.classes[Number(number)]).toBe(String(level % 20));
      return level;
    }),
  );
  expect(levels.toSorted((a, b) => a - b)).toEqual([10, 20, 30, 40, 50]);
}

test.each([0, 2])(
  'images of a folder reach a loop with their classes, with %i workers',
  async (numWorkers) => {
    await expectShades(folderOf(await shades()), numWorkers);
  },
);

describe('a bucket', () => {
  test('has images in the same way, and single objects', async () => {
    const { port } = await startS3('photos');
    useS3(port);
    const files = await shades();
    const storage = openStorage('s3://photos/train');
    for (const [name, bytes] of Object.entries(files)) await storage.write(name, bytes);
    await expectShades('s3://photos/train', 0);

    const objects = await loadObjects('s3://photos/train', { filter: (name) => name.startsWith('10/') });
    const loader = new DataLoader(objects, {
      batchSize: 2,
      prefetchFactor: 3,
      collateFn: (samples) => samples,
    });
    const found = (await all(loader)).flat();
    expect(found.map(({ name }) => name)).toEqual(['10/10.png', '10/30.png', '10/50.png']);
    for (const { name, bytes } of found) expect(Buffer.from(bytes).equals(files[name])).toBe(true);
    await expect(loadObjects('s3://photos/test')).rejects.toThrow(
      's3://photos/test: expected files, got none',
    );
  });
});

describe('names what is wrong:', () => {
  test('no folder, and a folder without images', async () => {
    await expect(loadImageFolder(folderOf({ 'a.png': '' }))).rejects.toThrow(
      'expected a folder for each class',
    );
    const folder = folderOf({ 'cat/1.png': '', 'dog/readme.txt': '' });
    await expect(loadImageFolder(folder)).rejects.toThrow(
      `${folder}: expected .png, .jpg or .jpeg files in the folder of each class, got none in dog`,
    );
  });

  test('a file that is no image, one that is missing, and an index', async () => {
    const folder = folderOf({ 'cat/1.png': 'text' });
    const dataset = await loadImageFolder(folder);
    await expect(dataset.at(0)).rejects.toThrow(`${folder}/cat/1.png: expected a complete PNG or JPEG image`);
    await expect(dataset.at(1)).rejects.toThrow('expected an index from 0 to 0, got 1');
    expect(readFileSync(join(folder, 'cat/1.png'), 'utf8')).toBe('text');
  });
});
