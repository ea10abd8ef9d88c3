/**
 * The worker thread of `serveStoreInThread`. It posts one `StoreThreadReport`, then answers clients until it receives a message.
 * It reports the closed socket in shared memory, because the main thread cannot receive messages at process exit.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { RingrunError } from '@ringrun/collectives';
import type { HostPort } from './endpoint.ts';
import { StoreServer } from './server.ts';

export interface StoreThreadData {
  address: HostPort;
  /** One element: 0, and 1 once the socket is closed. */
  closed: Int32Array;
}

/** The bound port, or the error. */
export type StoreThreadReport = { port: number } | { code: string; message: string };

const { address, closed } = workerData as StoreThreadData;
const port = parentPort!;

try {
  const server = await StoreServer.bind(address);
  port.once('message', () => void end(server));
  report({ port: server.port });
} catch (error) {
  const code = error instanceof RingrunError ? error.code : 'ERR_STORE_BIND';
  report({ code, message: error instanceof Error ? error.message : String(error) });
}

function report(outcome: StoreThreadReport): void {
  port.postMessage(outcome);
}

async function end(server: StoreServer): Promise<void> {
  await server.close();
  Atomics.store(closed, 0, 1);
  Atomics.notify(closed, 0);
}
