import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { builtFile } from '../../../../test/support/built-script.ts';

const script = fileURLToPath(builtFile(new URL('store-server-process.script.ts', import.meta.url)));

export interface StoreServerProcess {
  /** A new store in a thread of the process; one at a time. */
  open: () => Promise<{ port: number; close: () => Promise<unknown> }>;
}

/** Starts one process before the tests of a file, which serves their stores one after the other, and ends it after them. */
export function startStoreServerProcess(): StoreServerProcess {
  let server: ChildProcess;
  beforeAll(() => {
    server = fork(script, { execArgv: [] });
  });
  afterAll(async () => {
    const ended = once(server, 'exit');
    server.disconnect();
    await ended;
  });
  const ask = async (what: 'open' | 'close') => {
    const answer = once(server, 'message');
    server.send(what);
    return ((await answer) as [{ port: number }])[0];
  };
  return { open: async () => ({ ...(await ask('open')), close: () => ask('close') }) };
}
