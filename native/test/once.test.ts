import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { once } from '../once.js';

let folder: string;
let lock: string;
const noNotice = () => undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ringrun-once-'));
  lock = join(folder, 'lock');
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test('the first caller does the work, the others use its result', async () => {
  let worked = 0;
  let done = false;
  const work = async () => {
    worked++;
    await new Promise((resolve) => setTimeout(resolve, 150));
    done = true;
  };
  const call = () => once({ lock, work, isDone: () => done, onWait: noNotice });
  await Promise.all([call(), call(), call()]);
  expect(worked).toBe(1);
  expect(await readdir(folder)).toEqual([]);
});

test('a failure is reported to waiting callers, but not to later ones', async () => {
  let worked = 0;
  const work = () => {
    worked++;
    return Promise.reject(new Error(`disk on fire\n(${worked})`));
  };
  const call = () => once({ lock, work, isDone: () => false, onWait: noNotice });
  const results = await Promise.allSettled([call(), call()]);
  expect(results.map((result) => result.status === 'rejected' && String(result.reason))).toEqual([
    'Error: disk on fire\n(1)',
    'Error: disk on fire\n(1)',
  ]);
  await expect(call()).rejects.toThrow('disk on fire\n(2)');
});

test('a lock file of a dead process is taken over', async () => {
  await writeFile(lock, 'process 1 on a removed host');
  let holder = '';
  const work = async () => {
    holder = await readFile(lock, 'utf8');
  };
  await once({ lock, work, isDone: () => false, onWait: noNotice, staleAfterMs: 300 });
  expect(holder).toContain(`process ${process.pid} on `);
});

test('a holder that works longer than the limit keeps the lock', async () => {
  let worked = 0;
  let done = false;
  const work = async () => {
    worked++;
    await new Promise((resolve) => setTimeout(resolve, 3_500));
    done = true;
  };
  const call = () => once({ lock, work, isDone: () => done, onWait: noNotice, staleAfterMs: 2_000 });
  await Promise.all([call(), call()]);
  expect(worked).toBe(1);
});
