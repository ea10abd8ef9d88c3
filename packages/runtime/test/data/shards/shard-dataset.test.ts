import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as zlib from 'node:zlib';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { DataShare } from '../../../src/data/dataset.ts';
import { ShardDataset } from '../../../src/data/shards/shard-dataset.ts';
import type { ShardDatasetOptions } from '../../../src/data/shards/shard-dataset.ts';
import { openStorage } from '../../../src/storage/open-storage.ts';
import { startS3, useS3 } from '../../support/s3.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { tarOf, writeShard } from './tar-of.ts';

/** Shards of these numbers of samples, as their pattern. */
function shardsOf(counts: readonly number[], extension = 'tar'): string {
  const folder = temporaryFolder();
  let first = 0;
  for (const [index, count] of counts.entries()) {
    writeShard(join(folder, `part-0${index}.${extension}`), first, count);
    first += count;
  }
  return join(folder, `part-{00..0${counts.length - 1}}.${extension}`);
}

const shareOf = (index: number, count: number, epoch = 0, seed = 0): DataShare => ({
  index,
  count,
  epoch,
  seed,
  rank: index,
  worldSize: count,
  worker: 0,
  numWorkers: 0,
});

/** The numbers of the samples of a share. */
async function numbersOf(dataset: ShardDataset, share = shareOf(0, 1)): Promise<number[]> {
  const numbers: number[] = [];
  for await (const { key, files } of dataset.iterate(share)) {
    const number = Number(key.slice('samples/'.length));
    expect(Buffer.from(files.txt!).toString()).toBe(`number ${number}`);
    expect(Buffer.from(files.cls!).toString()).toBe(String(number % 10));
    numbers.push(number);
  }
  return numbers;
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);

test.each(['tar', 'tar.gz'])('reads the samples of all .%s shards in order', async (extension) => {
  expect(await numbersOf(new ShardDataset(shardsOf([3, 300, 1], extension)))).toEqual(upTo(304));
});

describe('an epoch', () => {
  test.each([1, 2, 3, 4, 5, 9])('visits each sample once over %i shares', async (count) => {
    const dataset = new ShardDataset(shardsOf([7, 3, 11, 5, 2]), { shuffle: true, bufferSize: 4 });
    for (const epoch of [0, 1]) {
      const found = await Promise.all(
        upTo(count).map((index) => numbersOf(dataset, shareOf(index, count, epoch))),
      );
      expect(sorted(found.flat())).toEqual(upTo(28));
    }
  });

  test('is shuffled by seed and epoch, shards and samples', async () => {
    const dataset = new ShardDataset(shardsOf([20, 20, 20]), { shuffle: true, bufferSize: 10 });
    const [first, again, later, other] = await Promise.all([
      numbersOf(dataset, shareOf(0, 1, 0, 5)),
      numbersOf(dataset, shareOf(0, 1, 0, 5)),
      numbersOf(dataset, shareOf(0, 1, 1, 5)),
      numbersOf(dataset, shareOf(0, 1, 0, 6)),
    ]);
    expect(again).toEqual(first);
    expect(new Set([first.join(), later.join(), other.join(), upTo(60).join()]).size).toBe(4);
    // The first sample of the next shard enters the buffer with the 20th.
    expect(first.slice(0, 11).every((number) => Math.floor(number / 20) === Math.floor(first[0] / 20))).toBe(
      true,
    );
  });

  test('has no order of the files: with a buffer of one, only shards are shuffled', async () => {
    const dataset = new ShardDataset(shardsOf([4, 4, 4]), { shuffle: true, bufferSize: 1 });
    const numbers = await numbersOf(dataset, shareOf(0, 1, 2));
    expect(sorted(numbers)).toEqual(upTo(12));
    for (const begin of [0, 4, 8]) {
      const shard = numbers.slice(begin, begin + 4);
      expect(shard).toEqual(upTo(4).map((i) => shard[0] + i));
    }
  });
});

test('reads objects of a bucket, ahead of their use and across shards', async () => {
  const { port } = await startS3('photos');
  useS3(port);
  const pattern = shardsOf([30, 20, 10]);
  for (const index of upTo(3)) {
    const bytes = readFileSync(pattern.replace('{00..02}', `0${index}`));
    await openStorage('s3://photos').write(`train/a-${index}.tar`, bytes);
  }
  const dataset = new ShardDataset('s3://photos/train/a-{0..2}.tar', { prefetchBytes: 1000 });
  expect(await numbersOf(dataset)).toEqual(upTo(60));
  const missing = new ShardDataset('s3://photos/train/a-{2..3}.tar');
  await expect(numbersOf(missing)).rejects.toThrow(/reading s3:\/\/photos\/train\/a-3.tar .*not found/);
});

describe('members', () => {
  async function samplesOf(members: Parameters<typeof tarOf>[0], options: ShardDatasetOptions = {}) {
    const path = join(temporaryFolder(), 'a.tar');
    writeFileSync(path, tarOf(members));
    const found = [];
    for await (const { key, files } of new ShardDataset(path, options).iterate(shareOf(0, 1)))
      found.push([key, Object.keys(files)]);
    return found;
  }

  test('of one name up to the first dot are one sample', async () => {
    expect(
      await samplesOf([
        ['a/x.JPG', ''],
        ['a/x.seg.png', ''],
        ['b.c/x.txt', ''],
        ['README', ''],
        ['.hidden', ''],
        ['y.cls', ''],
      ]),
    ).toEqual([
      ['a/x', ['jpg', 'seg.png']],
      ['b.c/x', ['txt']],
      ['y', ['cls']],
    ]);
  });

  test('may have empty contents and long names', async () => {
    const name = `${'deep/'.repeat(30)}x`;
    expect(await samplesOf([[`${name}.txt`, '']])).toEqual([[name, ['txt']]]);
  });

  test('of one extension twice in a sample are refused', async () => {
    await expect(
      samplesOf([
        ['x.jpg', ''],
        ['x.jpg', ''],
      ]),
    ).rejects.toThrow(
      /a\.tar: expected one member with the extension jpg in a sample, got a second one, x\.jpg/,
    );
  });
});

describe('a damaged shard names itself and the member', () => {
  const whole = tarOf(upTo(3).map((number) => [`00${number}.txt`, 'x'.repeat(700)] as const));
  const member = 512 + 1024;

  test.each([
    ['ends within a member', whole.subarray(0, member + 600), '001.txt'],
    ['ends within a header', whole.subarray(0, 2 * member + 100), '001.txt'],
    ['lacks its end', whole.subarray(0, 2 * member), '001.txt'],
    ['has a changed header', Buffer.from(whole).fill(0x37, 2 * member + 100, 2 * member + 140), '001.txt'],
    ['is a damaged archive of gzip', gzipSync(whole).subarray(0, 60), 'its beginning'],
    ['is not an archive', Buffer.alloc(2000, 'text'), 'its beginning'],
  ])('that %s', async (_, bytes, name) => {
    const path = join(temporaryFolder(), 'damaged.tar');
    writeFileSync(path, bytes);
    const read = async () => {
      for await (const sample of new ShardDataset(path).iterate(shareOf(0, 1)))
        expect(sample.shard).toBe(path);
    };
    await expect(read()).rejects.toMatchObject({ code: 'ERR_INVALID_DATA', file: path });
    await expect(read()).rejects.toThrow(`corrupt or truncated in ${name}`);
  });

  test('that is missing', async () => {
    const reading = numbersOf(new ShardDataset('/no/such-{0..1}.tar'));
    await expect(reading).rejects.toThrow(/^reading \/no\/such-0\.tar: not found/);
  });

  test('that has no bytes', async () => {
    await expect(namesIn(Buffer.alloc(0))).rejects.toThrow('in its beginning (the archive has no end)');
  });

  test.each([
    ['version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n', 'a pointer of Git LFS'],
    ['BZh91AY&SY', 'compressed by bzip2. Decompress it with bunzip2'],
    ['<html>404</html>', 'a web page or XML'],
  ])('that is %j', async (contents, message) => {
    await expect(namesIn(contents)).rejects.toThrow(`a.tar: expected a tar archive, but it is ${message}`);
  });
});

/** The names of the members of a shard with this content. */
async function namesIn(contents: Uint8Array | string): Promise<string[]> {
  const path = join(temporaryFolder(), 'a.tar');
  writeFileSync(path, contents);
  const names = [];
  for await (const { key, files } of new ShardDataset(path).iterate(shareOf(0, 1)))
    names.push(...Object.keys(files).map((extension) => `${key}.${extension}`));
  return names;
}

describe('an archive', () => {
  const first = tarOf([
    ['a.txt', 'x'],
    ['b.bin', Buffer.alloc(1500)],
  ]);
  const second = tarOf([['c.txt', 'y'.repeat(700)]]);

  test.each([
    ['two that follow each other', [first, second], ['a.txt', 'b.bin', 'c.txt']],
    [
      'two with blocks of zeros between and after them',
      [first, Buffer.alloc(10240), second, Buffer.alloc(512)],
      ['a.txt', 'b.bin', 'c.txt'],
    ],
    ['an empty one and another one', [tarOf([]), second], ['c.txt']],
    ['one without members', [tarOf([])], []],
    ['one without members, of one record', [Buffer.alloc(10240)], []],
  ])('of %s is read whole, gzipped or not', async (_, parts, names) => {
    expect(await namesIn(Buffer.concat(parts))).toEqual(names);
    expect(await namesIn(gzipSync(Buffer.concat(parts)))).toEqual(names);
    expect(await namesIn(Buffer.concat(parts.map((part) => gzipSync(part))))).toEqual(names);
  });

  test('whose second part is damaged names the member', async () => {
    await expect(namesIn(Buffer.concat([first, second.subarray(0, 900)]))).rejects.toThrow(
      'truncated in c.txt',
    );
  });

  const canCompress = 'zstdCompressSync' in zlib;

  test.runIf(canCompress)(
    `compressed by zstd is read${canCompress ? '' : ': skipped, needs Node.js 22.15'}`,
    async () => {
      const compress = (zlib as unknown as { zstdCompressSync: (bytes: Uint8Array) => Buffer })
        .zstdCompressSync;
      expect(await namesIn(compress(Buffer.concat([first, second])))).toEqual(['a.txt', 'b.bin', 'c.txt']);
      for (const parts of [
        [first, second],
        [first, Buffer.alloc(3_000_000, 'x'), second],
      ]) {
        const frames = namesIn(Buffer.concat(parts.map((part) => compress(part))));
        await expect(frames).rejects.toThrow('expected one zstd frame, got several');
      }
      await expect(namesIn(compress(first).subarray(0, 40))).rejects.toThrow(
        'corrupt or truncated in its beginning',
      );
    },
  );

  test.runIf(!canCompress)('compressed by zstd names the shard, the cause and what to do', async () => {
    const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0]);
    await expect(namesIn(magic)).rejects.toMatchObject({ code: 'ERR_INVALID_DATA' });
    await expect(namesIn(magic)).rejects.toThrow(
      `a.tar: expected a tar archive, but it is compressed by zstd, which Node.js reads from 22.15 on, and this is Node.js ${process.versions.node}. Decompress it`,
    );
  });
});

test.each([
  [['a.tar', 'a.tar'], {}, 'expected each shard once, got a.tar twice'],
  [[], {}, 'expected at least one shard, got none'],
  ['a.tar', { bufferSize: 5 }, 'got bufferSize without shuffle'],
  ['a.tar', { shuffle: true, bufferSize: 0 }, 'bufferSize must be an integer of at least 1, got 0'],
  ['a.tar', { prefetchBytes: 0 }, 'prefetchBytes must be an integer of at least 1, got 0'],
])('%j with %j is refused', (shards, options, message) => {
  expect(() => new ShardDataset(shards, options)).toThrow(message);
});

test('extensions that objects inherit are files of the sample', async () => {
  const path = join(temporaryFolder(), 'part.tar');
  const extensions = ['__proto__', 'constructor', 'txt'];
  writeFileSync(path, tarOf(extensions.map((name) => [`a.${name}`, name])));
  const samples = [];
  for await (const sample of new ShardDataset(path).iterate(shareOf(0, 1))) samples.push(sample);
  expect(samples.map(({ files }) => Object.getPrototypeOf(files) as unknown)).toEqual([Object.prototype]);
  const files = Object.entries(samples[0].files).map(([name, bytes]) => [name, String(Buffer.from(bytes!))]);
  expect(files).toEqual(extensions.map((name) => [name, name]));
});
