import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';

const script = fileURLToPath(new URL('./fixtures/store-host.mjs', import.meta.url));

export interface StoreHost {
  /** A new store in a thread of the process; one at a time. */
  open: () => Promise<{ port: number; close: () => Promise<unknown> }>;
}

/** Starts, before the tests of a file, one process that hosts their stores one after the other: it takes longer to start than to test. Ends it after them. */
export function startStoreHost(): StoreHost {
  let host: ChildProcess;
  beforeAll(() => {
    host = fork(script, { execArgv: [] });
  });
  afterAll(async () => {
    const ended = once(host, 'exit');
    host.disconnect();
    await ended;
  });
  const ask = async (what: 'open' | 'close') => {
    const answer = once(host, 'message');
    host.send(what);
    return ((await answer) as [{ port: number }])[0];
  };
  return { open: async () => ({ ...(await ask('open')), close: () => ask('close') }) };
}
