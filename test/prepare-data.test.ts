import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { deadMirror } from '../packages/runtime/test/support/mirror.ts';
import { loadMnist } from '../packages/runtime/src/data/datasets/mnist/load-mnist.ts';
import { builtScript } from './support/built-script.ts';
import { launch } from './support/command.ts';
import { temporaryFolder } from './support/temporary-folder.ts';
import { withoutWaiting } from './support/without-waiting.ts';

const results = temporaryFolder();

/** The results of three ranks of one host, and their stderr. */
async function prepare(cache: string, { mirror = '', synthetic = false } = {}) {
  const folder = mkdtempSync(join(results, 'prepare-'));
  const args = ['--nproc', '3', builtScript('prepare-data.script'), 'prepare', folder];
  const ended = await launch(args, {
    env: { XDG_CACHE_HOME: cache, RINGRUN_MNIST_MIRRORS: mirror, SYNTHETIC: synthetic ? '1' : '' },
  }).ended;
  expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
  const found = [0, 1, 2].map(
    (rank) => JSON.parse(readFileSync(join(folder, `prepare-${rank}.json`), 'utf8')) as unknown,
  );
  return { found, stderr: withoutWaiting(ended).stderr };
}

test('one rank per host generates 70,000 synthetic digits once, while the others wait', async () => {
  const cache = temporaryFolder();
  const { found, stderr } = await prepare(cache, { synthetic: true });
  const location = join(cache, 'ringrun', 'synthetic-digits-1');
  const generated = [0, 1, 2].map(() => ({
    location,
    kind: 'synthetic',
    title: 'synthetic digits, not MNIST',
    length: 10_000,
  }));
  expect(found).toEqual(generated);
  expect(stderr).toBe('');
  expect((await loadMnist({ split: 'train', location })).length).toBe(60_000);
  const first = async () => (await loadMnist({ split: 'test', location })).at(0);
  const { label } = await first();
  expect(readdirSync(location)).toHaveLength(4);

  // Marked, to detect if the next run uses it unchanged.
  const mark = label === 7n ? 1 : 7;
  const marked = Buffer.concat([Buffer.of(0, 0, 8, 1, 0, 0, 39, 16), Buffer.alloc(10_000, mark)]);
  writeFileSync(join(location, 't10k-labels-idx1-ubyte.gz'), gzipSync(marked));
  expect((await prepare(cache, { synthetic: true })).found).toEqual(generated);
  expect((await first()).label).toBe(BigInt(mark));
});

test('without a network every rank throws, and no synthetic data is generated', async () => {
  const cache = temporaryFolder();
  const dead = await deadMirror();
  const { found } = await prepare(cache, { mirror: dead });
  const problem = `MNIST could not be downloaded: ${dead}train-images-idx3-ubyte.gz: connect`;
  expect(found).toEqual([
    { code: 'ERR_DOWNLOAD', message: expect.stringContaining(problem) as string },
    ...[1, 2].map(() => ({
      code: 'ERR_INVALID_DATA',
      message: expect.stringContaining(problem) as string,
    })),
  ]);
});

test('a cache that cannot be written makes every rank throw', async () => {
  const { found } = await prepare('/dev/null');
  const problem = '/dev/null/ringrun/mnist: the cache cannot be written (';
  expect(found).toEqual([
    { code: 'ERR_INVALID_DATA', message: expect.stringContaining(problem) as string },
    ...[1, 2].map(() => ({
      code: 'ERR_INVALID_DATA',
      message: expect.stringContaining(
        `MNIST: rank 0 on ${hostname()} could not prepare it. ${problem}`,
      ) as string,
    })),
  ]);
});
