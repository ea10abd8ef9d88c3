import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { firstOwnImports } from '../../src/worker/first-own-imports.ts';
import { launch, temporaryScript } from '../support/launched.ts';

describe('the packages that are loaded before a script', () => {
  test.each([
    ["import 'ringrun';\nimport { nn } from '@ringrun/nn';", ['ringrun', '@ringrun/nn']],
    ['import {\n  allReduce,\n  initProcessGroup,\n} from "ringrun";', ['ringrun']],
    ["import fs from 'node:fs';\nimport os from 'os';\nimport { nn } from '@ringrun/nn';", ['@ringrun/nn']],
    ["import './variables.js';\nimport 'ringrun';", []],
    ["import { nn } from '@ringrun/nn';\nimport './variables.js';\nimport 'ringrun';", ['@ringrun/nn']],
    ["import type { Tensor } from '@ringrun/nn';\nimport 'ringrun';", ['ringrun']],
    ["const { nn } = await import('@ringrun/nn');\nconst r = require('ringrun');", []],
    ['import { "a b" as c } from \'ringrun\';\nconsole.log("import \'@ringrun/nn\'");', []],
    ['', []],
  ])('follow from its imports: %j', (source, names) => {
    expect(firstOwnImports(source)).toEqual(names);
  });
});

/** Prints whether Node's cache has ringrun from `require`, and whether `import` returns the same module. */
const report = `
  import { createRequire } from 'node:module';
  import { initProcessGroup } from 'ringrun';
  const { cache } = createRequire(import.meta.url);
  const path = Object.keys(cache).find((name) => name.endsWith('/runtime/dist/bundle/index.js'));
  console.log(path !== undefined, cache[path]?.exports.initProcessGroup === initProcessGroup);`.replace(
  /^ +/gm,
  '',
);

test.each([
  ['train.js', report, 'true true\n'],
  ['train.ts', report, 'true true\n'],
  ['train.mjs', `import './variables.mjs';\n${report}`, 'false false\n'],
])(
  '%s imports a package that is loaded already, unless another import comes first',
  async (name, source, printed) => {
    const script = temporaryScript(name, source);
    writeFileSync(join(dirname(script), 'variables.mjs'), '');
    expect(await launch([script]).ended).toMatchObject({ code: 0, stdout: printed, stderr: '' });
  },
);

test('a package that throws while it is loaded ends the script with its error', async () => {
  const script = temporaryScript('train.mjs', "import 'ringrun';\nimport '@ringrun/nn';\n");
  for (const name of ['ringrun', '@ringrun/nn']) {
    const folder = join(dirname(script), 'node_modules', name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }));
    writeFileSync(join(folder, 'index.js'), "throw new RangeError('not for this processor');\n");
  }
  const { code, stderr } = await launch([script]).ended;
  expect(code).toBe(1);
  expect(stderr).toContain('RangeError: not for this processor\n');
  expect(stderr).toMatch(/node_modules\/ringrun\/index\.js:1/);
});
