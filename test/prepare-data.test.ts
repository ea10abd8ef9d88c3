import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { deadMirror } from '../packages/runtime/test/support/mirror.ts';
import { loadMnist } from '../packages/runtime/src/data/datasets/mnist/load-mnist.ts';
import { launch } from './support/command.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const results = temporaryFolder();

/** What three ranks of one host found, and what they printed, with a mirror that cannot be reached. */
async function prepare(cache: string, mirror = '') {
  const folder = mkdtempSync(join(results, 'prepare-'));
  const args = ['--nproc', '3', 'test/fixtures/prepare-data.js', 'prepare', folder];
  const ended = await launch(args, { env: { XDG_CACHE_HOME: cache, RINGRUN_MNIST_MIRRORS: mirror } }).ended;
  expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
  const found = [0, 1, 2].map(
    (rank) => JSON.parse(readFileSync(join(folder, `${rank}.json`), 'utf8')) as unknown,
  );
  return { found, stderr: ended.stderr };
}

test('offline, one rank of a host draws as many digits as MNIST has, once, while the others wait', async () => {
  const cache = temporaryFolder();
  const dead = await deadMirror();
  const { found, stderr } = await prepare(cache, dead);
  const location = join(cache, 'ringrun', 'drawn-digits-1');
  const drawn = [0, 1, 2].map(() => ({ location, kind: 'drawn', length: 10_000 }));
  expect(found).toEqual(drawn);
  expect(stderr.match(/\n/g)).toHaveLength(1);
  expect(stderr).toContain(`MNIST: it could not be downloaded (${dead}train-images-idx3-ubyte.gz: connect`);
  expect(stderr).toContain('drawn digits take its place, and --data DIR reads the real ones');
  expect((await loadMnist({ split: 'train', location })).length).toBe(60_000);
  const first = async () => (await loadMnist({ split: 'test', location })).at(0);
  const { label } = await first();
  expect(readdirSync(location)).toHaveLength(4);

  // Marked, to see whether the next run takes it as it is.
  const mark = label === 7n ? 1 : 7;
  const marked = Buffer.concat([Buffer.of(0, 0, 8, 1, 0, 0, 39, 16), Buffer.alloc(10_000, mark)]);
  writeFileSync(join(location, 't10k-labels-idx1-ubyte.gz'), gzipSync(marked));
  expect((await prepare(cache, dead)).found).toEqual(drawn);
  expect((await first()).label).toBe(BigInt(mark));
});

test('what goes wrong there is an error of every rank', async () => {
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
