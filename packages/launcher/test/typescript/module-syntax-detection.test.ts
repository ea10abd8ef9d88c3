import { expect, test } from 'vitest';
import { hasModuleSyntax } from '../../src/typescript/module-syntax-detection.ts';

test.each([
  "import { a } from 'a';",
  "import 'a';",
  "import a, { b } from 'a';",
  "import type { A } from 'a';",
  "  import * as a from 'a'",
  'export const a = 1;',
  'export{a};',
  "export * from 'a';",
  'await main();',
  "const { a } = await import('a');",
  'for await (const a of b) c();',
  "'use strict';\n\nimport.meta.url;",
])('%j is a module', (source) => {
  expect(hasModuleSyntax(source)).toBe(true);
});

test.each([
  "const a = require('a');",
  "import a = require('a');",
  'export = a;',
  "import('a').then(b);",
  'async function f() {\n  await g();\n}',
  "// import { a } from 'a';",
  'exports.a = 1; important();',
  'const awaited = awaiting;',
  '',
])('%j is not', (source) => {
  expect(hasModuleSyntax(source)).toBe(false);
});
