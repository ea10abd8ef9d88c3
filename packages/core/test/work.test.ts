import { expect, test } from 'vitest';

import { PromisedWork } from '../src/work.ts';

test('a Work is completed when its promise settles', async () => {
  let resolve!: (value: number) => void;
  const work = new PromisedWork(new Promise<number>((settle) => (resolve = settle)));
  expect(work.isCompleted()).toBe(false);
  resolve(3);
  expect(await work.wait()).toBe(3);
  expect(work.isCompleted()).toBe(true);
  expect(await work.wait()).toBe(3);
});

test('a failure is kept for wait() and is not an unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', note);
  const work = new PromisedWork(Promise.reject(new Error('late')));
  // Rejections are reported as unhandled before the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
  expect(work.isCompleted()).toBe(true);
  await expect(work.wait()).rejects.toThrow('late');
});
