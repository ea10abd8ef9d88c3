// Runs the snippets of all Markdown pages. `<!-- not run: reason -->` before a fence marks one that this machine cannot run,
// `<!-- compiled: reason -->` one that it can only compile, and `<!-- left out (text): reason -->` leaves out the lines with
// a text. `<!-- setup … -->` is code that readers do not see, for all snippets of the page after it.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { importOnnx } from '@ringrun/nn';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Page, Snippet } from './support/docs/markdown.ts';
import { fileNameOf, isScript, modulesOf } from './support/docs/page-module.ts';
import { markdownPages } from './support/docs/pages.ts';
import {
  argumentsFor,
  emptyProject,
  folderOf,
  pathWithRingrun,
  withStandIns,
  writePage,
} from './support/docs/project.ts';
import type { StandIns } from './support/docs/project.ts';
import { environmentWith, repository } from './support/environment.ts';
import { start } from './support/start.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { pythonWithTorch } from './support/docs/python.ts';

const pages = markdownPages();
const snippets = pages.flatMap((page) => page.snippets);
const isCommand = ({ language }: Snippet) => language === 'sh' || language === 'bash';
const isRun = ({ notRun, compiledOnly }: Snippet) => notRun === undefined && compiledOnly === undefined;

const known = new Set(['ts', 'js', 'sh', 'bash', 'json', 'yaml', 'python', 'text']);
const where = ({ page, line }: Snippet) => `${page}:${line}`;

const mnist = syntheticMnist({ train: 6000, test: 500 });
const standIns: StandIns = [
  ["'/data/mnist'", JSON.stringify(mnist)],
  ["'@tensorflow/tfjs-node'", "'@tensorflow/tfjs'"],
  // Without a network.
  [/(ringrun.* train\.ts)/g, '$1 --synthetic'],
];

const cache = temporaryFolder();
const torch = pythonWithTorch();
let env: Record<string, string> = {};
let root = '';

beforeAll(() => {
  root = emptyProject();
  mkdirSync(join(cache, 'ringrun'));
  renameSync(syntheticMnist({ train: 6000, test: 500 }), join(cache, 'ringrun/synthetic-digits-1'));
  env = { PATH: pathWithRingrun(), XDG_CACHE_HOME: cache };
  for (const page of pages.filter(({ snippets: own }) =>
    own.some((one) => isScript(one) || isCommand(one)),
  )) {
    const { files, run, compiled } = modulesOf(page);
    writePage(page.path, [...files, ...[run, compiled].filter((one) => one !== undefined)], standIns);
  }
}, 100_000);

test('every snippet is in a language that is run, or is marked', () => {
  expect(snippets.filter((one) => !known.has(one.language) && one.notRun === undefined).map(where)).toEqual(
    [],
  );
  const count = (fits: (snippet: Snippet) => boolean) =>
    snippets.filter((one) => one.language !== 'text' && fits(one)).length;
  const [run, compiled, marked] = [
    count(isRun),
    count(({ compiledOnly }) => compiledOnly !== undefined),
    count(({ notRun }) => notRun !== undefined),
  ];
  const python = torch.problem === undefined ? '' : `; Python is not run: ${torch.problem}`;
  process.stdout.write(`snippets: ${run} run, ${compiled} compiled, ${marked} marked as not run${python}\n`);
  expect(run).toBeGreaterThan(40);
  expect(run).toBeGreaterThan(marked + compiled);
});

test('the TypeScript of all pages compiles', async () => {
  const tsc = join(repository, 'node_modules/typescript/bin/tsc');
  const { stdout } = await start(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], {
    cwd: root,
    limitMs: 100_000,
  }).ended;
  expect(stdout).toBe('');
}, 110_000);

test('commands name scripts of package.json and files that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    scripts: object;
  };
  const commands = snippets
    .filter(isCommand)
    .flatMap((one) => one.code.split('\n').map((line) => [where(one), line]));
  const wrong = commands.filter(([, line]) => {
    const script = /^npm run ([\w:-]+)/.exec(line)?.[1];
    const paths =
      line.replace(/#.*/, '').match(/(?<=^|\s)(?:scripts|deploy|bench|packages|test)\/[\w./-]+/g) ?? [];
    const lacks = (path: string) => !path.includes('*') && !existsSync(join(repository, path));
    return (script !== undefined && !Object.hasOwn(scripts, script)) || paths.some(lacks);
  });
  expect(commands.length).toBeGreaterThan(80);
  expect(wrong).toEqual([]);
});

test('JSON and YAML are valid', () => {
  const data = snippets.filter(({ language }) => language === 'json' || language === 'yaml');
  expect(data.length).toBeGreaterThan(1);
  for (const one of data) {
    const read = (text: string): unknown => (one.language === 'json' ? JSON.parse(text) : parse(text));
    expect(() => read(one.code), where(one)).not.toThrow();
  }
});

/** Runs a program in the folder of a page. */
async function runIn(page: Page, program: string, args: readonly string[]): Promise<void> {
  const { code, signal, stdout, stderr } = await start(program, args, {
    cwd: folderOf(page.path),
    env,
    limitMs: 100_000,
  }).ended;
  expect({ code, signal }, `${page.path}\n${stdout}\n${stderr}`).toEqual({ code: 0, signal: null });
}

/** The commands of a snippet, with those of the setups before it. */
function commandsOf(page: Page, { code, line, leftOut }: Snippet): string {
  const setups = page.setups.filter((one) => one.language === 'sh' && one.line < line).map((one) => one.code);
  const lines = code.split('\n').filter((one) => leftOut === undefined || !one.includes(leftOut));
  const commands = [...setups, ...lines].join('\n');
  // Uses the reader's script in JavaScript, which starts in a quarter of the time.
  const isOfTheReader = !page.snippets.some((one) => fileNameOf(one) === 'train.ts');
  return withStandIns(isOfTheReader ? commands.replaceAll('train.ts', 'train.js') : commands, standIns);
}

/** Runs the commands of a page, then its modules that no command starts. */
async function runPage(page: Page): Promise<void> {
  const own = page.snippets.filter(isRun);
  const commands = own.filter(isCommand).map((one) => commandsOf(page, one));
  const files = own
    .filter(isScript)
    .map(fileNameOf)
    .filter((name) => name !== undefined);
  const { run } = modulesOf(page);
  const started = (name: string) => commands.some((one) => one.includes(name));
  const modules = [...files.filter((name) => !started(name)), ...(run ? [run.name] : [])];
  for (const one of commands) await runIn(page, 'sh', ['-ec', one]);
  for (const name of modules)
    await runIn(page, process.execPath, [...argumentsFor(page.path, name), '--synthetic']);
}

test('the commands and the TypeScript of all pages run', async () => {
  const waiting = pages.filter((page) =>
    page.snippets.some((one) => (isScript(one) || isCommand(one)) && isRun(one)),
  );
  expect(waiting.length).toBeGreaterThan(15);
  const failures: unknown[] = [];
  const worker = async () => {
    for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
      await runPage(page).catch((error: unknown) => failures.push((error as Error).message));
    }
  };
  await Promise.all([worker(), worker()]);
  expect(failures).toEqual([]);
}, 400_000);

describe.skipIf(torch.problem !== undefined)(
  `Python${torch.problem ? `: skipped, ${torch.problem}` : ''}`,
  () => {
    const programs = pages.flatMap((page) =>
      page.snippets
        .filter((one) => one.language === 'python' && isRun(one))
        .map((one) => [where(one), page, one] as const),
    );

    test.each(programs)(
      '%s',
      (_, page, { code, line }) => {
        const setups = page.setups
          .filter((one) => one.language === 'python' && one.line < line)
          .map((one) => one.code);
        const place = {
          MASTER_ADDR: '127.0.0.1',
          MASTER_PORT: 29_511,
          RANK: 0,
          WORLD_SIZE: 1,
          OMP_NUM_THREADS: 1,
        };
        const { status, stderr } = spawnSync(torch.python, ['-c', [...setups, code].join('\n')], {
          cwd: folderOf(page.path),
          env: environmentWith(place),
          encoding: 'utf8',
        });
        expect(status, stderr).toBe(0);
      },
      100_000,
    );

    test("the file of docs/onnx.md's Python keeps batch normalization", async () => {
      const model = await importOnnx(join(folderOf('docs/onnx.md'), 'resnet18.onnx'));
      expect([...model.namedBuffers()].map(([name]) => name).sort()).toEqual([
        '1.running_mean',
        '1.running_var',
      ]);
      expect([...model.namedParameters()].map(([name]) => name)).toContain('1.weight');
    });
  },
);
