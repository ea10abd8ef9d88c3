import { expect, test } from 'vitest';
import { threadCount } from '../src/thread-count.ts';

test.each([
  ['1', 1],
  [' 4 ', 4],
  ['4,2', 4],
  ['1024', 1024],
  ['1e9', 1024],
  ['1000000000', 1024],
  ['9007199254740993', 1024],
  ['0', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['Infinity', undefined],
  ['many', undefined],
  ['', undefined],
  [undefined, undefined],
])('OMP_NUM_THREADS=%s is %s', (OMP_NUM_THREADS, threads) => {
  expect(threadCount({ OMP_NUM_THREADS })).toBe(threads);
});
