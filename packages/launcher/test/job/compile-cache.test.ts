import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../runtime/test/support/temporary-folder.ts';
import { compileCacheVariables } from '../../src/job/compile-cache.ts';

test('workers share a private folder of compiled JavaScript', () => {
  const base = temporaryFolder();
  const folder = join(base, 'ringrun', 'compiled');
  const env = { XDG_CACHE_HOME: base };
  expect(compileCacheVariables(env, true)).toEqual({ NODE_COMPILE_CACHE: folder });
  chmodSync(folder, 0o770);
  expect(compileCacheVariables(env, true)).toEqual({});
});

test('the cache stays off where Node.js has none and where a variable decides about it', () => {
  const env = { XDG_CACHE_HOME: temporaryFolder() };
  expect(compileCacheVariables(env, false)).toEqual({});
  for (const name of ['NODE_COMPILE_CACHE', 'NODE_DISABLE_COMPILE_CACHE', 'NODE_V8_COVERAGE'])
    expect(compileCacheVariables({ ...env, [name]: '1' }, true)).toEqual({});
});
