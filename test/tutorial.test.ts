// Runs docs/getting-started.md as a reader would: its files and commands, in their order, in an empty folder, with the packed packages.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { pack } from '../scripts/release/pack.js';
import { publicPackages, stagePackage, stagePlatform } from '../scripts/release/stage.js';
import { targetOfThisMachine } from '../scripts/release/targets.js';
import { repository } from './support/environment.ts';
import { start } from './support/start.ts';
import { syntheticMnist } from './support/synthetic-mnist.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

interface Step {
  /** A file to write, or commands to run. */
  kind: 'file' | 'commands';
  name: string;
  text: string;
}

const page = readFileSync(join(repository, 'docs/getting-started.md'), 'utf8');

/** The page's blocks: scripts begin with their name as a comment, `sh` blocks are commands; the rest is output. */
const steps = [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, language, text]): Step[] => {
  const name = /^\/\/ (\S+)\n/.exec(text)?.[1];
  if (name !== undefined) return [{ kind: 'file', name, text }];
  return language === 'sh' ? [{ kind: 'commands', name: text.trim(), text }] : [];
});

test('the tutorial has scripts and commands to run', () => {
  const files = steps.filter(({ kind }) => kind === 'file').map(({ name }) => name);
  expect(files).toEqual(['train.ts', 'predict.js']);
  expect(steps.filter(({ kind }) => kind === 'commands').length).toBeGreaterThan(5);
});

/** The path of a program on this machine. */
function find(program: string): string {
  const folder = process.env['PATH']!.split(delimiter).find((one) => existsSync(join(one, program)))!;
  return join(folder, program);
}

/** A folder for PATH with Node, npm and a shell, and nothing else: no compiler. */
function pathWith(node: string): string {
  const bin = temporaryFolder();
  symlinkSync(node, join(bin, 'node'));
  for (const program of ['sh', 'rm']) symlinkSync(find(program), join(bin, program));
  const npm = dirname(realpathSync(find('npm')));
  for (const program of ['npm', 'npx']) {
    writeFileSync(
      join(bin, program),
      `#!${find('sh')}\nexec ${join(bin, 'node')} ${npm}/${program}-cli.js "$@"\n`,
    );
    chmodSync(join(bin, program), 0o755);
  }
  return bin;
}

const isAsked = process.env['RINGRUN_PACKAGES'] !== undefined;

describe.runIf(isAsked)(`the tutorial${isAsked ? '' : ': skipped, npm run test:packages'}`, () => {
  const packing = temporaryFolder();
  let tarballs = '';

  beforeAll(() => {
    const staged = publicPackages().map((one) => stagePackage(one, join(packing, 'staged')));
    const binary = join(repository, 'native/build/ringrun.node');
    staged.push(stagePlatform(targetOfThisMachine()!, binary, join(packing, 'staged')));
    tarballs = staged.map((one) => pack(one, packing).tarball).join(' ');
  }, 200_000);

  /**
   * Packages that the page installs from npm are read from the tarballs; a training without a network uses synthetic
   * digits, as the page describes.
   */
  const here = (commands: string) =>
    commands
      .replace('npm install ringrun @ringrun/nn', `npm install --prefer-offline ${tarballs}`)
      .replaceAll(/(ringrun.* train\.ts)/g, '$1 --synthetic');

  test.each(['20', '22', '24', '26'])(
    'trains, resumes, exports and predicts on Node %s',
    async (version) => {
      const found = start('npx', ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'], {
        limitMs: 200_000,
      });
      const bin = pathWith((await found.ended).stdout.trim());
      const cwd = temporaryFolder();
      const cache = temporaryFolder();
      mkdirSync(join(cache, 'ringrun'));
      renameSync(syntheticMnist({ train: 6000, test: 500 }), join(cache, 'ringrun/synthetic-digits-1'));
      const env = { HOME: cwd, PATH: bin, XDG_CACHE_HOME: cache };
      const printed: string[] = [];
      for (const { kind, name, text } of steps) {
        if (kind === 'file') {
          writeFileSync(join(cwd, name), text);
          continue;
        }
        const { code, stdout, stderr } = await start(find('sh'), ['-ec', here(text)], {
          cwd,
          env,
          limitMs: 250_000,
        }).ended;
        expect({ command: name, code, stderr: code === 0 ? '' : stderr }).toEqual({
          command: name,
          code: 0,
          stderr: '',
        });
        printed.push(stdout);
      }
      const output = printed.join('');
      const accuracies = [...output.matchAll(/^accuracy (\d\.\d{4}) on synthetic digits, not MNIST$/gm)];
      expect(accuracies).toHaveLength(3);
      expect(Number(accuracies[2][1])).toBeGreaterThan(0.85);
      expect(output.match(/^started at step 0$/gm)).toHaveLength(2);
      // 6,000 images, 64 in a batch, on two ranks.
      expect(output).toMatch(/^resumed at step 47$/m);
      expect(output).toMatch(/^\[ 2, 10 \]$/m);
    },
    900_000,
  );
});
