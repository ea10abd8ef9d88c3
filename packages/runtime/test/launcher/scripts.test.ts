import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { launch, temporaryScript } from './fixtures/launched.ts';

const workspace = fileURLToPath(new URL('../../../..', import.meta.url));

const typescriptModule = `
import { ReduceOp, type ProcessGroup } from 'ringrun';
import { triple } from './triple.ts';
const group: ProcessGroup | undefined = undefined;
const value: number = await Promise.resolve(triple(14));
console.log(ReduceOp.SUM, value, group, process.argv.slice(2).join());
`;

const scripts: Readonly<Record<string, string>> = {
  'train.ts': typescriptModule,
  'train.mts': typescriptModule,
  'train.js':
    "import { ReduceOp } from 'ringrun'; await 1; console.log(ReduceOp.SUM, 42, undefined, process.argv.slice(2).join());",
  'train.mjs':
    "import { ReduceOp } from 'ringrun'; console.log(ReduceOp.SUM, 42, undefined, process.argv.slice(2).join());",
  'train.cjs':
    "const { ReduceOp } = require('ringrun'); console.log(ReduceOp.SUM, 42, undefined, process.argv.slice(2).join());",
  'train.cts': `
    async function main(): Promise<void> {
      const { ReduceOp } = await import('ringrun');
      console.log(ReduceOp.SUM, 42, undefined, process.argv.slice(2).join());
    }
    void main();`,
};

test.each(Object.entries(scripts))(
  '%s outside of the repository runs and imports ringrun',
  async (name, source) => {
    const path = temporaryScript(name, source);
    // A module by its syntax, in a folder without package.json.
    writeFileSync(
      join(dirname(path), 'triple.ts'),
      'export const triple = (x: number): number => 3 * x;\nawait 1;\n',
    );
    const { code, stdout, stderr } = await launch([path, '--epochs', '3']).ended;
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'SUM 42 undefined --epochs,3\n',
      stderr: '',
    });
  },
);

test('ringrun is found where NODE_PATH has it for require alone, as under package managers', async () => {
  const path = temporaryScript('train.mjs', "import { ReduceOp } from 'ringrun'; console.log(ReduceOp.SUM);");
  const { stdout } = await launch([path], { env: { NODE_PATH: join(workspace, 'node_modules') } }).ended;
  expect(stdout).toBe('SUM\n');
});

test('@ringrun/nn is found as well', async () => {
  const path = temporaryScript('train.mjs', "console.log(import.meta.resolve('@ringrun/nn'));");
  const { code, stdout } = await launch([path]).ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^file:.*packages\/nn\/dist\/index\.js\n$/);
});

test("a package of the script's own folder comes first", async () => {
  const path = temporaryScript('train.mjs', "import { origin } from '@ringrun/nn'; console.log(origin);");
  const own = join(dirname(path), 'node_modules/@ringrun/nn');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'package.json'), '{"type":"module","exports":"./index.js"}');
  writeFileSync(join(own, 'index.js'), "export const origin = 'own';");
  expect((await launch([path]).ended).stdout).toBe('own\n');
});

test('other packages that are missing stay missing', async () => {
  const path = temporaryScript('train.mjs', "import 'commander';");
  const { code, stderr } = await launch([path]).ended;
  expect(code).toBe(1);
  expect(stderr.trimEnd().split('\n').at(-1)).toContain("Cannot find package 'commander'");
});

test('Node processes that a script starts do not take themselves for workers', async () => {
  const path = temporaryScript(
    'parent.mjs',
    `import { fork } from 'node:child_process';
    if (process.argv[2] === 'child') {
      process.on('message', (text) => process.send(text + ' and back', () => { throw new Error('of the child'); }));
    } else {
      const child = fork(process.argv[1], ['child'], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
      child.on('message', (text) => console.log(text)).on('exit', (code) => { console.log(code); process.exitCode = 6; });
      child.send('there');
    }`,
  );
  const { code, stdout, stderr } = await launch([path]).ended;
  expect([code, stdout]).toEqual([6, 'there and back\n1\n']);
  expect(stderr).toContain('exit code 6 and left no record');
});

test('a symbolic link to a script runs', async () => {
  const path = temporaryScript('train.mjs', "console.log('RAN');");
  const link = join(dirname(path), 'link.mjs');
  symlinkSync(path, link);
  expect((await launch([link]).ended).stdout).toBe('RAN\n');
});
