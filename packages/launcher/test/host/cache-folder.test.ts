import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { userCacheFolder } from '../../src/host/cache-folder.ts';
import { temporaryFolder } from '../../../runtime/test/support/temporary-folder.ts';

/** A cache folder below a new base folder with this mode. */
function cacheIn(mode = 0o755): { base: string; folder: string; find: () => string | undefined } {
  const base = join(temporaryFolder(), 'cache');
  mkdirSync(base);
  chmodSync(base, mode);
  const find = () => userCacheFolder('typescript', { XDG_CACHE_HOME: base });
  return { base, folder: join(base, 'ringrun', 'typescript'), find };
}

test('creates the folder with mode 0700 and finds it again', () => {
  const { base, folder, find } = cacheIn();
  expect(find()).toBe(folder);
  for (const path of [folder, join(base, 'ringrun')]) expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(find()).toBe(folder);
});

test('uses ~/.cache without XDG_CACHE_HOME, or if that is relative', () => {
  const home = temporaryFolder();
  vi.stubEnv('HOME', home);
  const folder = join(home, '.cache', 'ringrun', 'typescript');
  expect(userCacheFolder('typescript', {})).toBe(folder);
  expect(userCacheFolder('typescript', { XDG_CACHE_HOME: 'cache' })).toBe(folder);
  vi.unstubAllEnvs();
});

test('refuses a folder that other users can enter or replace', () => {
  const open = cacheIn();
  expect(open.find()).toBe(open.folder);
  chmodSync(open.folder, 0o750);
  expect(open.find()).toBeUndefined();

  expect(cacheIn(0o777).find()).toBeUndefined();
  expect(cacheIn(0o770).find()).toBeUndefined();
  // As in /tmp, users cannot rename each other's files.
  const sticky = cacheIn(0o1777);
  expect(sticky.find()).toBe(sticky.folder);
});

test('refuses a link that another user could plant', () => {
  const { base, folder, find } = cacheIn();
  const planted = join(temporaryFolder(), 'planted');
  mkdirSync(join(base, 'ringrun'));
  mkdirSync(planted, { mode: 0o755 });
  symlinkSync(planted, folder);
  expect(find()).toBeUndefined();
});

const isRoot = process.geteuid?.() === 0;

test.runIf(isRoot)(`refuses a folder of another user${isRoot ? '' : ': skipped, chown needs root'}`, () => {
  const nobody = 65534;
  const { base, folder, find } = cacheIn();
  expect(find()).toBe(folder);
  chownSync(folder, nobody, nobody);
  expect(find()).toBeUndefined();
  chownSync(folder, 0, 0);
  chownSync(base, nobody, nobody);
  expect(find()).toBeUndefined();
});

test.each(['/proc', '/dev/null', '/proc/self/nowhere'])(
  'returns undefined if the folder cannot be created, as in %s',
  (base) => {
    expect(userCacheFolder('typescript', { XDG_CACHE_HOME: base })).toBeUndefined();
  },
);
