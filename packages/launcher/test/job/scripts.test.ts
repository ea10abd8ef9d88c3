import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { isFull, ways } from '../../../../test/support/extent.ts';
import { launch, temporaryFolder, temporaryScript } from '../support/launched.ts';

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

test.each(ways(['train.ts', 'train.js', 'train.cjs'], ['train.mts', 'train.mjs', 'train.cts']))(
  '%s outside the repository runs and imports ringrun',
  async (name) => {
    const path = temporaryScript(name, scripts[name]);
    // Module syntax, in a folder without package.json.
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

/** Code that Node's type stripping refuses, or that fails with tsx alone on the oldest supported releases. */
const typescript: Readonly<Record<string, string>> = {
  'dep.ts': `
    export enum Kind { A = 1, B }
    export namespace Shapes { export const square = (x: number): number => x * x; }
    export class Point { constructor(public readonly x: number, private y = 2) {} sum() { return this.x + this.y; } }`,
  'named.cts': `
    import { Kind } from './dep';
    export const named: string = Kind[2] + require('./old.cjs').Old.X;`,
  'old.cts': `
    import path = require('node:path');
    enum Old { X = 7 }
    export = { Old, base: path.basename('/a/b') };`,
  'dataset.ts': `
    import { Kind } from './dep';
    export const createDataset = (length: number) => ({ length, at: (i: number) => ({ value: i + Kind.B }) });`,
  'train.ts': `
    import { createRequire } from 'node:module';
    import { tmpdir } from 'node:os';
    import { Kind, Point, Shapes } from './dep.js';
    import { named } from './named.cjs';
    import old from './old.cjs';
    const fromRequire = createRequire(import.meta.url)('./dep') as typeof import('./dep');
    await 1;
    console.log(Kind[2], Shapes.square(3), new Point(1).sum(), named, old.Old.X, fromRequire.Kind.B, tmpdir());`,
  'main.cts': `
    import { Kind } from './dep';
    enum Own { Z = 5 }
    console.log(require.main === module, Own.Z, Kind.B, require('./old.cjs').base);`,
  'train.mjs': `
    import { DataLoader, datasetFromModule } from 'ringrun';
    const dataset = await datasetFromModule(new URL('./dataset.ts', import.meta.url), 4);
    for (const numWorkers of [0, 2])
      for await (const { value } of new DataLoader(dataset, { batchSize: 4, numWorkers })) console.log(value.data.join(' '));`,
};

test.each(nodes())(
  'TypeScript on %s: enums, namespaces, imports as tsc has them, CommonJS, threads',
  async (node) => {
    const folder = temporaryFolder();
    for (const [name, source] of Object.entries(typescript)) writeFileSync(join(folder, name), source);
    // TMPDIR must contain no predictable name, which another user could have created before.
    const [TMPDIR, XDG_CACHE_HOME] = ['tmp', 'cache'].map((name) => join(folder, name));
    for (const path of [TMPDIR, XDG_CACHE_HOME]) mkdirSync(path);
    const run = (script: string, cache = XDG_CACHE_HOME) =>
      launch([join(folder, script)], { node, env: { TMPDIR, XDG_CACHE_HOME: cache } }).ended;
    const good = (stdout: string) => ({ code: 0, signal: null, stdout, stderr: '' });
    const ends = await Promise.all(['train.ts', 'main.cts', 'train.mjs'].map((script) => run(script)));
    const printed = `B 9 3 B7 7 2 ${TMPDIR}\n`;
    expect(ends).toEqual([good(printed), good('true 5 2 b\n'), good('2 3 4 5\n2 3 4 5\n')]);
    expect(readdirSync(join(XDG_CACHE_HOME, 'ringrun', 'typescript'))).not.toEqual([]);
    expect(readdirSync(TMPDIR)).toEqual([]);
    // Without a cache folder of the user, the cache ends with the launcher or the process.
    expect(await run('train.ts', '/proc')).toEqual(good(printed));
    expect(await run('train.mjs', '/proc')).toEqual(good('2 3 4 5\n2 3 4 5\n'));
    expect(readdirSync(TMPDIR)).toEqual([]);
  },
);

/** Paths of Node.js: the one that runs the tests; with `npm run test:full` also others, oldest of `engines` first. */
function nodes(): readonly string[] {
  const fetched = (version: string) =>
    execFileSync('npx', ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'], {
      encoding: 'utf8',
    }).trim();
  return [process.execPath, ...(isFull ? ['20.19.0', '22.12.0', '22', '24'].map(fetched) : [])];
}

test('resolves ringrun if NODE_PATH contains it for require only, as under package managers', async () => {
  const path = temporaryScript('train.mjs', "import { ReduceOp } from 'ringrun'; console.log(ReduceOp.SUM);");
  const { stdout } = await launch([path], { env: { NODE_PATH: join(workspace, 'node_modules') } }).ended;
  expect(stdout).toBe('SUM\n');
});

test('resolves @ringrun/nn', async () => {
  const path = temporaryScript('train.mjs', "console.log(import.meta.resolve('@ringrun/nn'));");
  const { code, stdout } = await launch([path]).ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/^file:.*packages\/nn\/dist\/bundle\/torch-names\.entry\.js\n$/);
});

test("prefers a package in the script's own folder", async () => {
  const path = temporaryScript('train.mjs', "import { origin } from '@ringrun/nn'; console.log(origin);");
  const own = join(dirname(path), 'node_modules/@ringrun/nn');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'package.json'), '{"type":"module","exports":"./index.js"}');
  writeFileSync(join(own, 'index.js'), "export const origin = 'own';");
  expect((await launch([path]).ended).stdout).toBe('own\n');
});

test('does not resolve other missing packages', async () => {
  const path = temporaryScript('train.mjs', "import 'commander';");
  const { code, stderr } = await launch([path]).ended;
  expect(code).toBe(1);
  expect(stderr.trimEnd().split('\n').at(-1)).toContain("Cannot find package 'commander'");
});

test('child processes of a script do not act as workers', async () => {
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
  expect(stderr).toContain('exit code 6 without an error record');
});

test('runs a symbolic link to a script', async () => {
  const path = temporaryScript('train.mjs', "console.log('RAN');");
  const link = join(dirname(path), 'link.mjs');
  symlinkSync(path, link);
  expect((await launch([link]).ended).stdout).toBe('RAN\n');
});
