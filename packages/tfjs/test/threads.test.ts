import { expect, test } from 'vitest';
import { ownThreads } from '../src/process/threads.ts';

test("TensorFlow gets the rank's threads, unless the user has set its variables", () => {
  expect(ownThreads({})).toEqual({});
  expect(ownThreads({ OMP_NUM_THREADS: '2' })).toEqual({
    TF_NUM_INTRAOP_THREADS: '2',
    TF_NUM_INTEROP_THREADS: '2',
  });
  expect(ownThreads({ OMP_NUM_THREADS: '2', TF_NUM_INTRAOP_THREADS: '8' })).toEqual({
    TF_NUM_INTEROP_THREADS: '2',
  });
});
