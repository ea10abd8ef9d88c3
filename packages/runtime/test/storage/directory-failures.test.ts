import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openStorage } from '../../src/storage/index.ts';
import { canMount, mounted, mountProblem } from '../support/small-volume.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test.runIf(canMount)(`a full disk${mountProblem}`, async () => {
  const folder = mounted('size=256k')!;
  const storage = openStorage(folder);
  await storage.write('old', new Uint8Array(100_000).fill(1));
  const write = storage.write('old', new Uint8Array(300_000));
  await expect(write).rejects.toThrow(`writing ${folder}/old: full (ENOSPC`);
  await expect(write).rejects.toMatchObject({ code: 'ERR_STORAGE_FULL', problem: 'full' });
  expect(Buffer.compare(await storage.read('old'), Buffer.alloc(100_000, 1))).toBe(0);
  expect(readdirSync(folder)).toEqual(['old']);
});

test.runIf(canMount)(`a read-only volume${mountProblem}`, async () => {
  const folder = mounted('ro')!;
  const write = openStorage(folder).write('a/b', new Uint8Array(1));
  await expect(write).rejects.toThrow(
    /writing .*a\/b: read-only \(EROFS.*Mount the volume with write access/,
  );
  await expect(write).rejects.toMatchObject({ code: 'ERR_STORAGE_READ_ONLY' });
});

test('a folder of another user', async () => {
  const folder = join(temporaryFolder(), 'closed');
  mkdirSync(folder);
  chmodSync(folder, 0);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid!(65534);
  try {
    const storage = openStorage(folder);
    for (const act of [
      () => storage.write('a', new Uint8Array(1)),
      () => storage.read('a'),
      () => storage.list(),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: 'ERR_STORAGE_PERMISSION' });
      await expect(act()).rejects.toThrow("Allow this process's user to access it");
    }
  } finally {
    if (isRoot) process.seteuid!(0);
    chmodSync(folder, 0o700);
  }
});
