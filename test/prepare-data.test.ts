import { mkdtempSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { launch } from './support/command.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const results = temporaryFolder();

/** What three ranks of one host found, and what they printed, with an empty cache and no mirror. */
async function prepare(cache: string) {
  const folder = mkdtempSync(join(results, 'prepare-'));
  const args = ['--nproc', '3', 'test/fixtures/prepare-data.js', 'prepare', folder];
  const ended = await launch(args, { env: { XDG_CACHE_HOME: cache, RINGRUN_MNIST_MIRRORS: '' } }).ended;
  expect(ended).toMatchObject({ code: 0, timedOut: false, left: [] });
  const found = [0, 1, 2].map(
    (rank) => JSON.parse(readFileSync(join(folder, `${rank}.json`), 'utf8')) as unknown,
  );
  return { found, stderr: ended.stderr };
}

test('one rank of a host fills the cache while the others wait', async () => {
  const cache = temporaryFolder();
  const { found, stderr } = await prepare(cache);
  const location = join(cache, 'ringrun', 'drawn-digits-1');
  expect(found).toEqual([0, 1, 2].map(() => ({ location, kind: 'drawn', length: 10_000 })));
  expect(stderr.match(/drawn digits take its place/g)).toHaveLength(1);
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
