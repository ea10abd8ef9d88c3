import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reachedFolders } from '../scripts/changed/reached-folders.js';
import { importsOf, reaches } from './support/imports.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

describe('the tests that a change can reach', () => {
  const workspaces = [
    { folder: 'native', name: 'native', dependencies: ['node-addon-api'] },
    { folder: 'packages/core', name: 'core', dependencies: [] },
    { folder: 'packages/nn', name: 'nn', dependencies: ['core', 'native'] },
    { folder: 'packages/gpt', name: 'gpt', dependencies: ['nn'] },
    { folder: 'packages/alone', name: 'alone', dependencies: [] },
    { folder: '.', name: 'root', dependencies: ['gpt'] },
  ];
  const reached = (...changed: string[]) => reachedFolders(changed, workspaces);

  test.each([
    [
      'of a package and all that depend on it',
      ['native/src/base/fiber.cc'],
      ['native', 'packages/gpt', 'packages/nn'],
    ],
    [
      'of two packages',
      ['packages/gpt/a.ts', 'packages/core/b.ts'],
      ['packages/core', 'packages/gpt', 'packages/nn'],
    ],
  ])('are those %s, and the top level, which uses them', (_, changed, folders) => {
    expect(reached(...changed)).toEqual([...folders.map((folder) => `${folder}/test`), 'test']);
  });

  test('leave out the top level if it does not use the package', () => {
    expect(reached('packages/alone/src/index.ts')).toEqual(['packages/alone/test']);
  });

  test('are the top level for a file outside of packages, all for a lock file, none for no file', () => {
    expect(reached('docs/launching.md')).toEqual(['test']);
    expect(reached('pnpm-lock.yaml')).toHaveLength(workspaces.length);
    expect(reached()).toEqual([]);
  });
});

test('imports of values are found, of types are not', () => {
  const text = [
    `import a from 'a';`,
    `import type { B } from 'b';`,
    `import {\n  c,\n} from './c.ts';`,
    `import 'd';`,
    `export * from './e.ts';`,
    `const f = await import('f');`,
  ].join('\n');
  expect(importsOf(text)).toEqual(['a', './c.ts', 'd', './e.ts', 'f']);
});

test('a module reaches the imports of its relative imports, even in cycles', () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'support'));
  const files = {
    'one.test.ts': `import { two } from './support/two.ts';`,
    'support/two.ts': `import './three.ts';`,
    'support/three.ts': `import './two.ts';\nimport { spawn } from 'node:child_process';`,
    'pure.test.ts': `import type { spawn } from 'node:child_process';\nimport './support';`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const spawns = (name: string) => reaches(join(folder, name), ['node:child_process']);
  expect([spawns('one.test.ts'), spawns('pure.test.ts')]).toEqual([true, false]);
});
