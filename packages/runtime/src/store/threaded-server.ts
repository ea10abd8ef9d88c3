import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { RingrunError } from '@ringrun/collectives';
import { formatHostPort } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import type { StoreThreadData, StoreThreadReport } from './server-thread.ts';

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
  const starting = startThread(address, () => servers.delete(name));
  servers.set(name, starting);
  starting.catch(() => servers.delete(name));
  return starting;
}

async function startThread(address: HostPort, onClose: () => void): Promise<ThreadedStoreServer> {
  const closed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: StoreThreadData = { address, closed };
  // The file next to this one: compiled or TypeScript source.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./server-thread.${extension}`, import.meta.url);
  // The compiled file needs no loader of the program.
  const worker = new Worker(entry, { workerData, ...(extension === 'js' ? { execArgv: [] } : {}) });
  const [report] = (await once(worker, 'message')) as [StoreThreadReport];
  if ('code' in report) {
    await worker.terminate();
    throw new RingrunError(report.code, report.message);
  }

  // ZeroMQ aborts the process if a thread ends while receiving, so the socket is closed first, also at process exit.
  const closeBeforeExit = () => {
    worker.postMessage('end');
    Atomics.wait(closed, 0, 0, exitPatienceMs);
  };
  process.once('exit', closeBeforeExit);
  worker.unref();

  const close = async () => {
    onClose();
    process.removeListener('exit', closeBeforeExit);
    worker.ref();
    const ended = once(worker, 'exit');
    worker.postMessage('end');
    await ended;
  };
  return { port: report.port, close };
}
