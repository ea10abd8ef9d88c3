import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
// Imports the build, because threads of this Node may not run TypeScript.
import { DataLoader, loadImageFolder, loadObjects, transforms } from '../../../../dist/data/index.js';
import { isFull } from '../../../../../../test/support/extent.ts';
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

describe('as torchvision', () => {
  /** Classes, samples and output. */
  async function scanned(folder: string) {
    const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => {
      printed.mockRestore();
    });
    const { classes, samples } = await loadImageFolder(folder);
    const lines = printed.mock.calls.map(([line]) => String(line).replace(folder, 'FOLDER'));
    return { classes, samples: samples.map(([path]) => path), lines };
  }

  test('links to folders and files are followed, and a link to a folder above is not', async () => {
    const elsewhere = folderOf({ 'x/1.png': '', 'y.png': '' });
    const folder = folderOf({ 'b/2.png': '' });
    symlinkSync(join(elsewhere, 'x'), join(folder, 'a'));
    symlinkSync(join(elsewhere, 'y.png'), join(folder, 'b/linked.png'));
    symlinkSync(join(folder, 'a'), join(folder, 'b/again'));
    symlinkSync('..', join(folder, 'b/loop'));
    symlinkSync('nowhere', join(folder, 'b/broken.png'));
    symlinkSync('itself.png', join(folder, 'b/itself.png'));
    expect(await scanned(folder)).toEqual({
      classes: ['a', 'b'],
      samples: ['a/1.png', 'b/2.png', 'b/linked.png', 'b/again/1.png'],
      lines: [
        expect.stringMatching(
          /^ringrun: FOLDER: skipped (?=.*1 entry that are links to a folder above themselves \(b\/loop\))(?=.*2 entries that are links to paths that do not exist \(b\/(broken|itself)\.png, b\/(broken|itself)\.png\)).*\n$/,
        ),
      ],
    });
  });

  test('all types of images are found, and skipped entries are printed', async () => {
    const types = ['jpg', 'jpeg', 'png', 'ppm', 'bmp', 'pgm', 'tif', 'tiff', 'webp', 'TIFF'];
    const files = Object.fromEntries(types.map((type) => [`a/1.${type}`, '']));
    const found = await scanned(
      folderOf({
        ...files,
        'a/notes.txt': '',
        'a/._1.png': '',
        'a/.ipynb_checkpoints/1-checkpoint.png': '',
        '.ipynb_checkpoints/2-checkpoint.png': '',
        'README.md': '',
      }),
    );
    expect(found.classes).toEqual(['a']);
    expect(found.samples.toSorted()).toEqual(Object.keys(files).toSorted());
    const [line] = found.lines;
    expect(line).toMatch(/\d entries in hidden folders \(.*\.ipynb_checkpoints/);
    expect(line).toMatch(/2 entries that are not images \(a\/(notes\.txt|\._1\.png), a\//);
    expect(line).toContain('1 entry outside of the folders of the classes (README.md)');
  });

  test('an empty class or an empty folder is refused with its name', async () => {
    const folder = folderOf({ 'cat/1.png': '' });
    mkdirSync(join(folder, 'dog/puppies'), { recursive: true });
    await expect(loadImageFolder(folder)).rejects.toThrow(
      `${folder}: expected images (.jpg, .jpeg, .png, .ppm, .bmp, .pgm, .tif, .tiff, .webp) in the folder of each class, got none in dog. Add images`,
    );
  });
});

const many = { count: 200_000, limitSeconds: 8, limitMebibytes: 200 };

test.runIf(isFull)(
  `${many.count} files of one folder are listed in ${many.limitSeconds} s of processor time and ${many.limitMebibytes} MiB`,
  () => {
    const { count, limitSeconds, limitMebibytes } = many;
    const folder = join(temporaryFolder(), 'data');
    mkdirSync(join(folder, 'a'), { recursive: true });
    for (let i = 0; i < count; i += 1) closeSync(openSync(join(folder, `a/${i}.png`), 'w'));
    const measured = `
    import { loadImageFolder, loadObjects, openStorage } from ${JSON.stringify(import.meta.resolve('../../../../dist/index.js'))};
    const before = process.resourceUsage().maxRSS;
    const begin = process.cpuUsage();
    const lengths = [await loadImageFolder(process.argv[1]), await loadObjects(process.argv[1])].map(({ length }) => length);
    const { user, system } = process.cpuUsage(begin);
    const seconds = (user + system) / 1e6;
    const mebibytes = (process.resourceUsage().maxRSS - before) / 1024;
    console.log(JSON.stringify({ lengths, seconds, mebibytes, objects: (await openStorage(process.argv[1]).list()).length }));`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', measured, '--', folder],
      { encoding: 'utf8' },
    );
    expect(stderr).toBe('');
    const { lengths, seconds, mebibytes, objects } = JSON.parse(stdout) as Record<string, unknown>;
    expect({ lengths, objects }).toEqual({ lengths: [count, count], objects: count });
    expect(mebibytes).toBeLessThan(limitMebibytes);
    expect(seconds).toBeLessThan(limitSeconds);
  },
);

describe('names the problem:', () => {
  test('no folder, and a folder without images', async () => {
    await expect(loadImageFolder(folderOf({ 'a.png': '' }))).rejects.toThrow(
      'expected a folder for each class, got none; skipped 1 entry outside of the folders of the classes (a.png)',
    );
    const folder = folderOf({ 'cat/1.png': '', 'dog/readme.txt': '' });
    await expect(loadImageFolder(folder)).rejects.toThrow(
      'in the folder of each class, got none in dog; skipped 1 entry that are not images (dog/readme.txt)',
    );
  });

  test('a location that does not exist, is a file or another URL', async () => {
    const folder = folderOf({ 'a.png': '' });
    for (const load of [loadImageFolder, loadObjects]) {
      const refused = (location: string) => expect(load(location)).rejects;
      await refused(join(folder, 'no')).toThrow(`${folder}/no: expected `);
      await refused(join(folder, 'no')).toThrow('but it does not exist');
      await refused(join(folder, 'a.png')).toThrow('but it is a file');
      await refused('http://a/b').toThrow(
        `${load.name}: expected a path, a file: URL or s3://bucket/prefix, got 'http://a/b'.`,
      );
    }
  });

  test('a file that is not an image, a missing file, and an invalid index', async () => {
    const folder = folderOf({ 'cat/1.png': 'text' });
    const dataset = await loadImageFolder(folder);
    await expect(dataset.at(0)).rejects.toThrow(`${folder}/cat/1.png: expected a complete image`);
    await expect(dataset.at(1)).rejects.toThrow('expected an index from 0 to 0, got 1');
    expect(readFileSync(join(folder, 'cat/1.png'), 'utf8')).toBe('text');
  });
});
