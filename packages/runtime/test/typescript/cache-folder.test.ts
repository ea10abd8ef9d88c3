import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { userCacheFolder } from '../../src/typescript/cache-folder.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The cache folder below a base, which is made with this mode. */
function cacheIn(mode = 0o755): { base: string; folder: string; find: () => string | undefined } {
  const base = join(temporaryFolder(), 'cache');
  mkdirSync(base);
  chmodSync(base, mode);
  const find = () => userCacheFolder({ XDG_CACHE_HOME: base });
  return { base, folder: join(base, 'ringrun', 'typescript'), find };
}

test('the folder is made with mode 0700 and found again', () => {
  const { base, folder, find } = cacheIn();
  expect(find()).toBe(folder);
  for (const path of [folder, join(base, 'ringrun')]) expect(statSync(path).mode & 0o777).toBe(0o700);
  expect(find()).toBe(folder);
});

test('without XDG_CACHE_HOME, or with a relative one, it is below ~/.cache', () => {
  const home = temporaryFolder();
  vi.stubEnv('HOME', home);
  const folder = join(home, '.cache', 'ringrun', 'typescript');
  expect(userCacheFolder({})).toBe(folder);
  expect(userCacheFolder({ XDG_CACHE_HOME: 'cache' })).toBe(folder);
  vi.unstubAllEnvs();
});

test('a folder that others may enter, or could replace, is not used', () => {
  const open = cacheIn();
  expect(open.find()).toBe(open.folder);
  chmodSync(open.folder, 0o750);
  expect(open.find()).toBeUndefined();

  expect(cacheIn(0o777).find()).toBeUndefined();
  expect(cacheIn(0o770).find()).toBeUndefined();
  // As in /tmp, nobody renames there what is somebody else's.
  const sticky = cacheIn(0o1777);
  expect(sticky.find()).toBe(sticky.folder);
});

test('a link that another user could plant leads nowhere', () => {
  const { base, folder, find } = cacheIn();
  const planted = join(temporaryFolder(), 'planted');
  mkdirSync(join(base, 'ringrun'));
  mkdirSync(planted, { mode: 0o755 });
  symlinkSync(planted, folder);
  expect(find()).toBeUndefined();
});

test.runIf(process.geteuid?.() === 0)('a folder of another user is not used', () => {
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
  'where none can be made, as in %s, there is none',
  (base) => {
    expect(userCacheFolder({ XDG_CACHE_HOME: base })).toBeUndefined();
  },
);
