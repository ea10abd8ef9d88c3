import { once } from 'node:events';
import { MessageChannel, SHARE_ENV, Worker } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { RingrunError } from '@ringrun/core';
import { formatHostPort } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import type { StoreThreadReport, StoreThreadRequest } from './server-thread.ts';

/** A store server in a worker thread of this process. */
export interface ThreadedStoreServer {
  readonly port: number;
  /** Ends the store and frees its port. */
  close(): Promise<void>;
}

const servers = new Map<string, Promise<ThreadedStoreServer>>();

/** Milliseconds that process exit waits for the thread to close its socket, which takes one turn of its event loop. */
const exitPatienceMs = 2000;

/**
 * Serves a store in a worker thread, so that it answers while this thread computes. The thread does not keep the
 * process alive.
 *
 * The store lives until it is closed or the process ends. A second call with the same address returns the same store:
 * after a process group was destroyed, faster ranks may already have written the keys of the next one.
 *
 * @throws the errors of `StoreServer.bind`.
 */
export function serveStoreInThread(address: HostPort): Promise<ThreadedStoreServer> {
  const name = formatHostPort(address);
  const existing = servers.get(name);
  if (existing) return existing;
  const starting = startServer(address, () => servers.delete(name));
  servers.set(name, starting);
  starting.catch(() => servers.delete(name));
  return starting;
}

/**
 * One thread serves all stores of this process: ZeroMQ keeps a thread's descriptors and threads until the process ends,
 * so one thread per store would leak some of them. It does not keep the process alive.
 */
let thread: { worker: Worker; failed: Promise<never> } | undefined;

function storeThread(): NonNullable<typeof thread> {
  if (thread) return thread;
  // The file next to this one: compiled or TypeScript source.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./server-thread.${extension}`, import.meta.url);
  // The compiled file needs no loader of the program. Later stores use the secret that the environment has by then.
  const worker = new Worker(entry, { env: SHARE_ENV, ...(extension === 'js' ? { execArgv: [] } : {}) });
  const failed = once(worker, 'exit').then(([code]) => {
    throw new Error(`the thread of the store ended with code ${String(code)}`);
  });
  failed.catch(() => {
    thread = undefined;
  });
  return (thread = { worker, failed });
}

async function startServer(address: HostPort, onClose: () => void): Promise<ThreadedStoreServer> {
  const closed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const { worker, failed } = storeThread();
  const { port1: port, port2 } = new MessageChannel();
  const request: StoreThreadRequest = { address, closed, port: port2 };
  worker.postMessage(request, [port2]);
  const report = await firstReport(port, failed);
  worker.unref();
  if ('code' in report) throw new RingrunError(report.code, report.message);

  // ZeroMQ aborts the process if a thread ends while receiving, so the socket is closed first, also at process exit.
  const closeBeforeExit = () => {
    port.postMessage('end');
    Atomics.wait(closed, 0, 0, exitPatienceMs);
  };
  process.once('exit', closeBeforeExit);

  const close = async () => {
    onClose();
    process.removeListener('exit', closeBeforeExit);
    const ended = once(port, 'close');
    port.ref();
    port.postMessage('end');
    await Promise.race([ended, failed]);
  };
  return { port: report.port, close };
}

/** Keeps the process alive until it arrives. */
async function firstReport(port: MessagePort, failed: Promise<never>): Promise<StoreThreadReport> {
  const [report] = (await Promise.race([once(port, 'message'), failed])) as [StoreThreadReport];
  return report;
}
