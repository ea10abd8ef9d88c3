import { expect, test } from 'vitest';
import { pageOf } from './support/docs/markdown.ts';
import { modulesOf } from './support/docs/page-module.ts';

const page = pageOf(
  'page.md',
  `# Title

<!-- setup
const x = 1;
-->

\`\`\`ts
import { y } from './y.ts';
console.log(x, y);
\`\`\`

Text.

<!-- not run: needs two hosts -->

\`\`\`sh
ringrun train.ts
\`\`\`

<!-- left out (host0): needs two hosts -->
\`\`\`sh
ringrun a.ts
\`\`\`

<!-- compiled: needs a GPU -->

- Text comes between.

\`\`\`ts
// train.ts
export const z = 2;
\`\`\`

<!-- compiled: needs a GPU -->

  \`\`\`ts
  const gpu = x;
  \`\`\`

1. A step of a list.

   <!-- not run: needs a cluster -->

   \`\`\`sh
   kubectl get pods
   \`\`\`
`,
);

test('a comment before a fence marks only that snippet', () => {
  const marks = page.snippets.map(({ line, notRun, compiledOnly, leftOut }) => [
    line,
    notRun ?? compiledOnly ?? leftOut,
  ]);
  expect(marks).toEqual([
    [8, undefined],
    [17, 'needs two hosts'],
    [22, 'host0'],
    [30, undefined],
    [37, 'needs a GPU'],
    [45, 'needs a cluster'],
  ]);
});

test('snippets are modules with the line numbers of the page, after its setups', () => {
  const { files, run, compiled } = modulesOf(page);
  expect(files).toEqual([{ name: 'train.ts', code: '// train.ts\nexport const z = 2;\n' }]);
  const lines = run!.code.split('\n');
  expect([lines[0], lines[3], lines[6], lines[8], lines[9]]).toEqual([
    "import { y } from './y.ts'; ",
    'const x = 1;',
    '{',
    'console.log(x, y);',
    '}',
  ]);
  expect(compiled!.code.split('\n')[36]).toBe('const gpu = x;');
});
