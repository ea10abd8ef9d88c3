import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { RingrunError } from '@ringrun/collectives';
import { formatHostPort } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import type { StoreThreadData, StoreThreadReport } from './server-thread.ts';

/** A store that this process hosts for others. */
export interface HostedStore {
  readonly port: number;
  /** Ends it and frees the port. */
  close(): Promise<void>;
}

const hosted = new Map<string, Promise<HostedStore>>();

/** Milliseconds that the end of the process waits for the thread to close its socket, which takes one turn of its event loop. */
const exitPatienceMs = 2000;

/**
 * Hosts a store in a thread of its own, so that it answers while this thread computes. The thread does not keep the process alive.
 *
 * The store lives until it is closed or the process ends, and asking for the same place again gives the same store: when a process group
 * is destroyed and another initialised, ranks that are faster than this one may already have written to it.
 *
 * @throws RingrunError as `StoreServer.bind`.
 */
export function hostStore(place: HostPort): Promise<HostedStore> {
  const name = formatHostPort(place);
  const existing = hosted.get(name);
  if (existing) return existing;
  const starting = startThread(place, () => hosted.delete(name));
  hosted.set(name, starting);
  starting.catch(() => hosted.delete(name));
  return starting;
}

async function startThread(place: HostPort, onClose: () => void): Promise<HostedStore> {
  const closed = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const workerData: StoreThreadData = { place, closed };
  // The neighbour of this file, built or not.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./server-thread.${extension}`, import.meta.url);
  // Built, it needs none of the loaders that the program may run under.
  const worker = new Worker(entry, { workerData, ...(extension === 'js' ? { execArgv: [] } : {}) });
  const [report] = (await once(worker, 'message')) as [StoreThreadReport];
  if ('code' in report) {
    await worker.terminate();
    throw new RingrunError(report.code, report.message);
  }

  // ZeroMQ aborts the process when a thread ends while it receives, so the socket is closed first, also at the end of the process.
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
