// @ringrun/native as published: where no platform package fits, the addon is compiled from the sources in it.
import { chmodSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { publicPackages, stagePackage } from '../scripts/release/stage.js';
import { start } from './support/start.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

test('the published addon compiles with the headers and licences among its sources, without other packages', async () => {
  const folder = temporaryFolder();
  const native = publicPackages().find(({ manifest }) => manifest.name === '@ringrun/native')!;
  const staged = stagePackage(native, folder);
  const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8')) as {
    dependencies?: object;
  };
  expect(manifest.dependencies).toBeUndefined();

  // Preprocesses the units that include headers of Node-API: a missing header is an error, and the output names all of them.
  const compiler = join(folder, 'compiler');
  writeFileSync(
    compiler,
    `#!/bin/sh
[ "$1" = --version ] && exit 0
case "$*" in *-isystem*) exec c++ -E "$@" ;; esac
while [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done
`,
  );
  chmodSync(compiler, 0o755);
  const cache = join(folder, 'cache');
  mkdirSync(cache);
  const into = join(folder, 'built');
  const env = { XDG_CACHE_HOME: cache, CXX: compiler };
  const { code, stderr } = await start(process.execPath, [join(staged, 'build.js'), '--into', into], {
    env,
    limitMs: 200_000,
  }).ended;
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('ringrun: compiled') as string,
  });

  const headers = new Set<string>();
  const objects = join(cache, 'ringrun/objects');
  for (const name of readdirSync(objects).filter((one) => statSync(join(objects, one)).size > 0))
    for (const [, path] of readFileSync(join(objects, name), 'utf8').matchAll(/^# \d+ "(.*api.*\.h)"/gm))
      if (/\/(napi|node_api|js_native_api)[^/]*$/.test(path)) headers.add(path);
  expect([...headers].filter((path) => !path.startsWith(join(into, 'src/node_modules/')))).toEqual([]);
  expect([...headers].map((path) => basename(path)).sort()).toEqual([
    'js_native_api.h',
    'js_native_api_types.h',
    'napi-inl.deprecated.h',
    'napi-inl.h',
    'napi.h',
    'node_api.h',
    'node_api_types.h',
  ]);
  for (const licence of ['node-addon-api/LICENSE.md', 'node-api-headers/LICENSE'])
    expect(readFileSync(join(into, 'src/node_modules', licence), 'utf8')).toContain(
      'Permission is hereby granted',
    );
}, 300_000);
