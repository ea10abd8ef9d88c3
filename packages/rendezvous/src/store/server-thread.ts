/**
 * The worker thread of `serveStoreInThread`. For each `StoreThreadRequest` it posts one `StoreThreadReport`, then answers
 * the clients of that store until it receives a message; then it closes the port of the request. It reports the closed
 * socket in shared memory too, because the main thread cannot receive messages at process exit.
 */
import { parentPort } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { RingrunError } from '@ringrun/core';
import type { HostPort } from './endpoint.ts';
import { StoreServer } from './server.ts';

export interface StoreThreadRequest {
  address: HostPort;
  /** One element: 0, and 1 once the socket is closed. */
  closed: Int32Array;
  /** Port for the reports of this store. */
  port: MessagePort;
}

/** The bound port, or the error. */
export type StoreThreadReport = { port: number } | { code: string; message: string };

parentPort!.on('message', (request: StoreThreadRequest) => void serve(request));

async function serve({ address, closed, port }: StoreThreadRequest): Promise<void> {
  const report = (outcome: StoreThreadReport) => {
    port.postMessage(outcome);
  };
  try {
    const server = await StoreServer.bind(address);
    port.once('message', () => void end(server));
    report({ port: server.port });
  } catch (error) {
    const code = error instanceof RingrunError ? error.code : 'ERR_STORE_BIND';
    report({ code, message: error instanceof Error ? error.message : String(error) });
    port.close();
  }

  async function end(server: StoreServer): Promise<void> {
    await server.close();
    Atomics.store(closed, 0, 1);
    Atomics.notify(closed, 0);
    port.close();
  }
}
