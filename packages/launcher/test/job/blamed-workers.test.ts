import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@ringrun/rendezvous';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';
import { awaitBlamed } from '../../src/job/blamed-workers.ts';
import type { BlamedRank } from '../../src/worker/blame.ts';
import { worker } from './worker-records.ts';

const place = temporaryFolder();
const never = new Promise<void>(() => undefined);
const workersHere = new Map([
  [100, never],
  [101, Promise.resolve()],
  [102, never],
]);

/** What `awaitBlamed` waited for: `nothing`, or the first of an `end`, the `limit` and the `ending` of the round. */
async function awaited(ranks: BlamedRank[], over: { limit?: true; ending?: true } = {}): Promise<string> {
  const errorFile = join(place, 'error.json');
  const { error } = worker(0, {}, { blames: { isCertain: false, ranks } });
  writeFileSync(errorFile, JSON.stringify(error));
  const ending = new AbortController();
  let asked = 'nothing';
  const delay: Clock['delay'] = (_, signal) =>
    new Promise((resolve, reject) => {
      asked = 'an end';
      signal!.addEventListener('abort', reject);
      const soon = (what: string, act: () => void) =>
        setImmediate(() => {
          asked = what;
          act();
        });
      if (over.limit) soon('the limit', resolve);
      if (over.ending)
        soon('the end of the round', () => {
          ending.abort();
        });
    });
  const { outcome } = worker(0, { errorFile });
  await awaitBlamed(outcome, workersHere, { delay } as Clock, ending.signal);
  return asked;
}

const node7 = (pid: number) => ({ host: 'node-7', pid });

test('a failure without an explanation, or with a rank that never joined, waits for no worker', async () => {
  expect(await awaited([])).toBe('nothing');
  expect(await awaited([{ rank: 1 }])).toBe('nothing');
});

test('a worker that ended is waited for no longer', async () => {
  expect(await awaited([node7(101)])).toBe('an end');
});

test.each([
  ['of this node that runs', [node7(102)]],
  ['of another node', [{ host: 'node-8', pid: 4711 }]],
  ['of another launcher of this host, beside one that ended', [node7(101), node7(4711)]],
])('a worker %s is waited for until the limit, or until the round ends', async (_, ranks) => {
  expect(await awaited(ranks, { limit: true })).toBe('the limit');
  expect(await awaited(ranks, { ending: true })).toBe('the end of the round');
});
