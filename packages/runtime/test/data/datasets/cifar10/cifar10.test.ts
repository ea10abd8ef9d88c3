import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Header, create } from 'tar';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readArchive } from '../../../../src/data/datasets/cifar10/archive.ts';
import { encodeBatch } from '../../../../src/data/datasets/cifar10/batch.ts';
import { loadCifar10 } from '../../../../src/data/datasets/cifar10/load-cifar10.ts';
import { prepareCifar10 } from '../../../../src/data/datasets/cifar10/prepare-cifar10.ts';
import { syntheticShapes } from '../../../../src/data/datasets/cifar10/synthetic-shapes.ts';
import { InvalidDataError } from '../../../../src/data/datasets/invalid-data-error.ts';
import {
  Compose,
  RandomCrop,
  RandomHorizontalFlip,
  ToTensor,
} from '../../../../src/data/transforms/index.ts';
import { openStorage } from '../../../../src/storage/index.ts';
import { startS3, useS3 } from '../../../support/s3.ts';
import { mutated } from '../../../support/mutated.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

const real = fileURLToPath(
  new URL('../../../../../../../shared/data/cifar10/cifar-10-binary-sample.tar.gz', import.meta.url),
);

/** Image i of a batch has label i + salt, and all its bytes are i + salt too, but for its red pixel at (1, 0), which is 200. */
function batch(count: number, salt: number): Uint8Array {
  const labels = Uint8Array.from({ length: count }, (_, i) => (i + salt) % 10);
  const pixels = Uint8Array.from({ length: count * 3072 }, (_, at) =>
    at % 3072 === 1 ? 200 : Math.floor(at / 3072) + salt,
  );
  return encodeBatch(labels, pixels);
}

const contents: Record<string, Uint8Array> = {
  'batches.meta.txt': Buffer.from('airplane\n'),
  'data_batch_10.bin': batch(2, 9),
  'data_batch_2.bin': batch(3, 2),
  'test_batch.bin': batch(4, 5),
};

/** A folder that has `files` in a folder of the archive's name. */
function unpacked(files = contents): string {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'cifar-10-batches-bin'));
  for (const [name, bytes] of Object.entries(files))
    writeFileSync(join(folder, 'cifar-10-batches-bin', name), bytes);
  return folder;
}

/** A folder that has an archive of `files`. */
async function packed(files = contents): Promise<string> {
  const folder = temporaryFolder();
  const file = join(folder, 'cifar-10-binary.tar.gz');
  await create({ gzip: true, file, cwd: unpacked(files) }, ['cifar-10-batches-bin']);
  return folder;
}

async function requireContents(location: string): Promise<void> {
  const transform = new Compose([new ToTensor()]);
  const train = await loadCifar10({ split: 'train', location, transform });
  const testing = await loadCifar10({ split: 'test', location, transform });
  const labelsOf = (dataset: typeof train) =>
    Array.from({ length: dataset.length }, (_, i) => dataset.at(i).label);
  expect(labelsOf(train)).toEqual([2n, 3n, 4n, 9n, 0n]);
  expect(labelsOf(testing)).toEqual([5n, 6n, 7n, 8n]);
  const { data, shape } = train.at(1).image;
  expect(shape).toEqual([3, 32, 32]);
  expect([data[0], data[1], data[1024], data[3071]]).toEqual(
    [3, 200, 3, 3].map((byte) => Math.fround(byte / 255)),
  );
}

describe('reads batches in the order of their numbers', () => {
  test('from a folder with the archive', async () => {
    await requireContents(await packed());
  });

  test('from the archive', async () => {
    await requireContents(join(await packed(), 'cifar-10-binary.tar.gz'));
  });

  test('from the unpacked folder and from its parent', async () => {
    const folder = unpacked();
    await requireContents(folder);
    await requireContents(join(folder, 'cifar-10-batches-bin'));
  });

  test('from a bucket', async () => {
    useS3((await startS3('data')).port);
    const archive = readFileSync(join(await packed(), 'cifar-10-binary.tar.gz'));
    await openStorage('s3://data/sets/cifar').write('cifar-10-binary.tar.gz', archive);
    await requireContents('s3://data/sets/cifar');
    await requireContents('s3://data/sets/cifar/cifar-10-binary.tar.gz');
    for (const [name, bytes] of Object.entries(contents))
      await openStorage('s3://data/files').write(name, bytes);
    await requireContents('s3://data/files');
    expect(await prepareCifar10({ location: 's3://data/files' })).toEqual({
      location: 's3://data/files',
      kind: 'given',
      title: 's3://data/files',
    });
  });
});

describe('rejects, and names file and member:', () => {
  const load = async (folder: string) => await loadCifar10({ split: 'train', location: folder });

  test.each<[string, Record<string, Uint8Array>, RegExp]>([
    [
      'a batch of a wrong size',
      { 'data_batch_1.bin': new Uint8Array(3072) },
      /data_batch_1\.bin: it has 3072 bytes, not a multiple of 3073/,
    ],
    ['an empty batch', { 'data_batch_1.bin': new Uint8Array(0) }, /data_batch_1\.bin: it has 0 bytes/],
    [
      'an invalid label',
      { 'data_batch_1.bin': batch(3, 0).with(3073, 10) },
      /data_batch_1\.bin: label 1 is 10, not a class from 0 to 9/,
    ],
    ['no training images', { 'test_batch.bin': batch(1, 0) }, /it has no data_batch_\*\.bin/],
  ])('%s', async (_, files, problem) => {
    const [archive, folder] = [await packed(files), unpacked(files)];
    for (const location of [archive, folder]) {
      await expect(load(location)).rejects.toThrow(InvalidDataError);
      await expect(load(location)).rejects.toThrow(problem);
      await expect(load(location)).rejects.toThrow(location);
    }
    if ('data_batch_1.bin' in files)
      await expect(load(archive)).rejects.toThrow(
        'cifar-10-binary.tar.gz: cifar-10-batches-bin/data_batch_1.bin: ',
      );
  });

  test.each<[string, (archive: Buffer) => Uint8Array, RegExp]>([
    [
      'a truncated archive',
      (archive) => archive.subarray(0, -2000),
      /truncated in cifar-10-batches-bin\/.*\.bin \(/,
    ],
    [
      'corrupt gzip data',
      (archive) => archive.with(archive.length >> 1, archive[archive.length >> 1] ^ 0xff),
      /corrupt or truncated in /,
    ],
    [
      'a truncated tar',
      (archive) => gzipSync(gunzipSync(archive).subarray(0, 9000)),
      /truncated in cifar-10-batches-bin\/data_batch_\d+\.bin \(/,
    ],
    [
      'a tar with a corrupt header',
      (archive) => gzipSync(gunzipSync(archive).fill(7, 520, 600)),
      /corrupt or truncated in /,
    ],
    ['no archive', () => Buffer.from('<html>'.repeat(1000)), /corrupt or truncated in its beginning/],
    ['nothing', () => Buffer.alloc(0), /it has no data_batch_\*\.bin|corrupt or truncated/],
  ])('%s', async (_, damage, problem) => {
    const folder = temporaryFolder();
    const noise = Uint8Array.from({ length: 3 * 3073 }, (_, at) =>
      at % 3073 === 0 ? 1 : Math.imul(at, 2654435761) >>> 24,
    );
    const file = join(
      await packed({ 'data_batch_1.bin': noise, 'data_batch_2.bin': noise }),
      'cifar-10-binary.tar.gz',
    );
    writeFileSync(join(folder, 'cifar-10-binary.tar.gz'), damage(readFileSync(file)));
    await expect(load(folder)).rejects.toThrow(InvalidDataError);
    await expect(load(folder)).rejects.toThrow(problem);
    await expect(load(folder)).rejects.toThrow(`${folder}/cifar-10-binary.tar.gz: `);
  });

  test('missing training batches, on stderr, and reads the others', async () => {
    const folder = temporaryFolder();
    const batch = (seed: number) => {
      const { labels, pixels } = syntheticShapes({ count: 2, seed });
      return encodeBatch(labels, pixels);
    };
    const printed = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => {
      printed.mockRestore();
    });
    const [first, second, ...others] = [1, 2, 3, 4, 5].map((number) => `data_batch_${number}.bin`);
    writeFileSync(join(folder, second), batch(2));
    expect((await loadCifar10({ split: 'train', location: folder })).length).toBe(2);
    expect(printed.mock.calls).toEqual([
      [
        `ringrun: ${folder}/: read 1 of the 5 training batches of CIFAR-10, without ${[first, ...others].join(', ')}\n`,
      ],
    ]);
    printed.mockClear();
    for (const name of [first, ...others]) writeFileSync(join(folder, name), batch(1));
    expect((await loadCifar10({ split: 'train', location: folder })).length).toBe(10);
    expect(printed.mock.calls).toEqual([]);
  });

  test('an empty location, in prepareCifar10', async () => {
    const location = temporaryFolder();
    await expect(prepareCifar10({ location })).rejects.toThrow(
      `${location}: it has no data_batch_*.bin, no test_batch.bin. Pass --data with a folder or s3://bucket/prefix that has CIFAR-10's`,
    );
  });
});

describe('augmented images', () => {
  const transform = new Compose([
    new RandomCrop(32, { padding: 4 }),
    new RandomHorizontalFlip(),
    new ToTensor(),
  ]);

  test('depend only on seed, epoch and index', async () => {
    const dataset = await loadCifar10({ split: 'train', location: unpacked(), transform });
    const pass = { seed: 3, epoch: 5 };
    const all = dataset.batch([0, 1, 2, 3, 4], pass).map(({ image }) => image.data.join());
    const backwards = [4, 3, 2, 1, 0].map((index) => dataset.at(index, pass).image.data.join());
    expect(backwards.toReversed()).toEqual(all);
    expect(
      dataset.batch([0, 1, 2, 3, 4], { seed: 3, epoch: 6 }).map(({ image }) => image.data.join()),
    ).not.toEqual(all);
    expect(
      dataset.batch([0, 1, 2, 3, 4], { seed: 4, epoch: 5 }).map(({ image }) => image.data.join()),
    ).not.toEqual(all);
  });
});

describe('synthetic shapes', () => {
  const { labels, pixels } = syntheticShapes({ count: 1000, seed: 1 });

  test('depend on the seed and not on the count', () => {
    const fewer = syntheticShapes({ count: 50, seed: 1 });
    expect(Buffer.compare(fewer.pixels, pixels.subarray(0, 50 * 3072))).toBe(0);
    expect(Buffer.compare(fewer.labels, labels.subarray(0, 50))).toBe(0);
    expect(Buffer.compare(syntheticShapes({ count: 50, seed: 2 }).pixels, fewer.pixels)).not.toBe(0);
  });

  test('have uniform classes, and colours independent of the class', () => {
    for (let label = 0; label < 10; label += 1) {
      const images = Array.from(labels.keys()).filter((image) => labels[image] === label);
      expect(images.length).toBeGreaterThan(65);
      expect(images.length).toBeLessThan(140);
      for (const channel of [0, 1, 2]) {
        const means = images.map((image) => {
          const start = image * 3072 + channel * 1024;
          return pixels.subarray(start, start + 1024).reduce((sum, byte) => sum + byte, 0) / 1024;
        });
        const mean = means.reduce((sum, value) => sum + value, 0) / means.length;
        expect(Math.abs(mean - 127.5)).toBeLessThan(30);
      }
    }
  });

  test('are written and read in the format of CIFAR-10', async () => {
    const folder = unpacked({ 'data_batch_1.bin': encodeBatch(labels, pixels) });
    const dataset = await loadCifar10({
      split: 'train',
      location: folder,
      transform: new Compose([new ToTensor()]),
    });
    expect(dataset.length).toBe(1000);
    expect(dataset.at(999).label).toBe(BigInt(labels[999]));
    expect(dataset.at(999).image.data[100]).toBe(Math.fround(pixels[999 * 3072 + 100] / 255));
  });
});

const problem = existsSync(real) ? '' : `: skipped, no ${real}`;

test.skipIf(problem)(`normalises real images to mean 0 and deviation 1${problem}`, async () => {
  const train = await loadCifar10({ split: 'train', location: real });
  const testing = await loadCifar10({ split: 'test', location: real });
  expect([train.length, testing.length]).toEqual([10_000, 2000]);
  let [sum, squares, count] = [0, 0, 0];
  for (let index = 0; index < train.length; index += 10) {
    for (const value of train.at(index).image.data) {
      sum += value;
      squares += value * value;
      count += 1;
    }
  }
  expect(sum / count).toBeCloseTo(0, 1);
  expect(squares / count).toBeCloseTo(1, 1);
});

/** A tar archive of two members of these sizes, of which the first `bytes` bytes follow. */
function archiveOf(size: number, bytes: number): Buffer {
  const header = Buffer.alloc(512);
  new Header({ path: 'data_batch_1.bin', mode: 0o644, size, type: 'File', mtime: new Date(0) }).encode(
    header,
  );
  return Buffer.concat([header, Buffer.alloc(bytes), header, Buffer.alloc(bytes), Buffer.alloc(1024)]);
}

test('an archive that claims 4 GB is rejected by member, claim and bound', async () => {
  const reading = readArchive(archiveOf(4e9, 0), '/data/cifar.tar', () => true);
  await expect(reading).rejects.toThrow(
    '/data/cifar.tar: its member data_batch_1.bin claims 4000000000 bytes, and the members so far 4000000000: expected at most 1073741824 in all.',
  );
});

test('400 damaged archives are read or rejected by name', async () => {
  const archive = archiveOf(1024, 1024);
  let rejected = 0;
  for (const bytes of [...mutated(archive, 300), ...mutated(gzipSync(archive), 100)]) {
    const read = await readArchive(bytes, '/data/cifar.tar', () => true).catch((error: unknown) => error);
    if (read instanceof Error) {
      expect(read).toBeInstanceOf(InvalidDataError);
      expect(read.message).toMatch(/^\/data\/cifar\.tar: /);
      rejected += 1;
    }
  }
  expect(rejected).toBeGreaterThan(100);
});
