import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidArgumentError } from '@ringrun/core';
import { describe, expect, test } from 'vitest';
import { S3Storage } from '../../src/storage/s3-storage.ts';
import { StorageError, openStorage } from '../../src/storage/index.ts';
import type { Storage } from '../../src/storage/index.ts';
import { ways } from '../../../../test/support/extent.ts';
import { startS3, useS3 } from '../support/s3.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

function bytesOf(length: number, salt = 0): Uint8Array {
  // Not from a function, which takes seconds for millions of elements.
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i += 1) bytes[i] = (i * 31 + salt) % 251;
  return bytes;
}

type Kind = [kind: string, open: () => Promise<Storage>];

const inFolder: Kind = [
  'a folder',
  () => Promise.resolve(openStorage(join(temporaryFolder(), 'made', 'when needed'))),
];

const inBucket: Kind = [
  'a bucket',
  async () => {
    useS3((await startS3('checkpoints')).port);
    return openStorage('s3://checkpoints/job/7/');
  },
];

const inParts = (prefix: string): Kind => [
  `a bucket, in parts of 5 MiB under the prefix '${prefix}'`,
  async () => {
    useS3((await startS3('checkpoints')).port);
    return new S3Storage({ bucket: 'checkpoints', prefix, partBytes: 5 * 2 ** 20 });
  },
];

// A server is started for each test, and takes longer than the test.
const kinds = ways([inFolder, inParts('job/7')], [inBucket, inParts('')]);

describe.each(kinds)('%s', (_, open) => {
  test('reads the last written bytes', async () => {
    const storage = await open();
    for (const length of [0, 1, 11 * 2 ** 20 + 3, 1000]) {
      await storage.write('step-1/rank 0+ä.bin', bytesOf(length));
      expect(Buffer.compare(await storage.read('step-1/rank 0+ä.bin'), bytesOf(length))).toBe(0);
    }
  });

  test('reads sizes and ranges', async () => {
    const storage = await open();
    const whole = bytesOf(100_000);
    await storage.write('a/b', whole);
    expect(await storage.size('a/b')).toBe(100_000);
    for (const [begin, end] of [
      [0, 1],
      [0, 100_000],
      [99_999, 100_000],
      [777, 70_000],
      [5, 5],
    ])
      expect(Buffer.compare(await storage.readRange('a/b', begin, end), whole.subarray(begin, end))).toBe(0);
    await expect(storage.readRange('a/b', 99_000, 100_001)).rejects.toThrow(StorageError);
    await expect(storage.readRange('a/b', 200_000, 200_001)).rejects.toThrow(StorageError);
    await expect(storage.readRange('a/c', 0, 1)).rejects.toMatchObject({ problem: 'not found' });
    await expect(storage.size('a/c')).rejects.toMatchObject({ problem: 'not found' });
  });

  test('lists names and sizes with a prefix, sorted', async () => {
    const storage = await open();
    expect(await storage.list()).toEqual([]);
    for (const [length, name] of ['b', 'a/2', 'a/1/x', 'a-1', 'ab'].entries())
      await storage.write(name, bytesOf(length));
    const names = async (prefix?: string) => (await storage.list(prefix)).map(({ name }) => name);
    expect(await names()).toEqual(['a-1', 'a/1/x', 'a/2', 'ab', 'b']);
    expect(await names('a/')).toEqual(['a/1/x', 'a/2']);
    expect(await names('c')).toEqual([]);
    expect(await storage.list('a/2')).toEqual([{ name: 'a/2', bytes: 1 }]);
  });

  test('deletes files, and accepts missing ones', async () => {
    const storage = await open();
    await storage.write('a/b', bytesOf(3));
    await storage.delete('a/b');
    await storage.delete('a/b');
    expect(await storage.list()).toEqual([]);
    await expect(storage.read('a/b')).rejects.toMatchObject({
      name: 'StorageError',
      code: 'ERR_STORAGE_NOT_FOUND',
      problem: 'not found',
    });
    await expect(storage.read('a/b')).rejects.toThrow(`reading ${storage.location}/a/b`);
  });

  test('deletes a folder and nothing else', async () => {
    const storage = await open();
    for (const name of ['a/1', 'a/b/2', 'ab', 'b/a/1']) await storage.write(name, bytesOf(2));
    await storage.deleteFolder('a', '1');
    await storage.deleteFolder('a');
    expect((await storage.list()).map(({ name }) => name)).toEqual(['ab', 'b/a/1']);
  });

  test('rejects names outside of its location', async () => {
    const storage = await open();
    for (const name of ['', '/etc/passwd', '../up', 'a/../../b', 'a//b', 'a/', './a', 'a\0']) {
      await expect(storage.read(name)).rejects.toThrow(InvalidArgumentError);
      await expect(storage.write(name, bytesOf(1))).rejects.toThrow(InvalidArgumentError);
      await expect(storage.delete(name)).rejects.toThrow(InvalidArgumentError);
      await expect(storage.deleteFolder(name)).rejects.toThrow(InvalidArgumentError);
    }
  });
});

test('concurrent writes of one name leave one of them complete', async () => {
  const storage = openStorage(temporaryFolder());
  const versions = Array.from({ length: 4 }, (_, salt) => bytesOf(2 ** 20, salt));
  await Promise.all(versions.map((bytes) => storage.write('same', bytes)));
  const found = await storage.read('same');
  expect(versions.some((bytes) => Buffer.compare(bytes, found) === 0)).toBe(true);
  expect(await storage.list()).toEqual([{ name: 'same', bytes: 2 ** 20 }]);
});

test('does not list partial files of a crash or dangling links, and leaves none of its own', async () => {
  const folder = temporaryFolder();
  const storage = openStorage(folder);
  writeFileSync(join(folder, 'model.123-abcd.part'), 'half');
  symlinkSync('nothing', join(folder, 'link'));
  await storage.write('model', bytesOf(10));
  expect(await storage.list()).toEqual([{ name: 'model', bytes: 10 }]);
  expect(readdirSync(folder).sort()).toEqual(['link', 'model', 'model.123-abcd.part']);
});

test('deleting a folder deletes its partial files of a crash', async () => {
  const folder = temporaryFolder();
  const storage = openStorage(folder);
  await storage.write('step-1/model', bytesOf(1));
  writeFileSync(join(folder, 'step-1', 'model.123-abcd.part'), 'half');
  await storage.deleteFolder('step-1');
  expect(readdirSync(folder)).toEqual([]);
});

test('deletes a link, but nothing behind it', async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(join(other, 'model'), 'x');
  symlinkSync(other, join(folder, 'link'));
  const storage = openStorage(folder);
  for (const deleting of [() => storage.delete('link/model'), () => storage.deleteFolder('link/model')])
    await expect(deleting()).rejects.toThrow('symbolic link');
  await storage.deleteFolder('link', 'model');
  expect(readdirSync(folder)).toEqual([]);
  symlinkSync(join(other, 'model'), join(folder, 'link'));
  await storage.delete('link');
  expect(readdirSync(folder)).toEqual([]);
  expect(readdirSync(other)).toEqual(['model']);
});

test.each(['', 'http://host/x', 'gs://bucket', 's3://', 's3:///'])('rejects %j as a location', (location) => {
  expect(() => openStorage(location)).toThrow(InvalidArgumentError);
  expect(() => openStorage(location)).toThrow(`got '${location}'`);
});

test('throws a RingrunError with the system’s error as its cause', async () => {
  const error: unknown = await openStorage('/nowhere')
    .read('x')
    .catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(StorageError);
  expect(error).toMatchObject({ cause: { code: 'ENOENT' } });
  expect(String(error)).toContain('reading /nowhere/x: not found (ENOENT');
});
