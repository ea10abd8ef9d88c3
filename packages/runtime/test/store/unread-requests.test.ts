import { expect, test } from 'vitest';
import { start } from './processes.ts';

/** It takes 18 s, which is more than the interval of ZeroMQ's heartbeats. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';

test.runIf(isFull)('a store survives a reset connection whose requests it has not read', async () => {
  const store = start(new URL('unread-requests.script.ts', import.meta.url), {});
  expect(await store.ended).toEqual({ code: 0, signal: null });
  expect(store.output().stdout).toBe('value\n');
});
