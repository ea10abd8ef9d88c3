import { Worker } from 'node:worker_threads';
import { InvalidArgumentError } from '@ringrun/core';
import { emptied } from '../batch-memory.ts';
import type { WorkerDataset } from '../dataset.ts';
import type { BatchReply, BatchRequest, LoaderThreadData, MadeBatch, Wanted } from './messages.ts';
import { DataLoaderWorkerError } from './worker-error.ts';

interface Pending {
  request: Wanted;
  resolve: (made: MadeBatch | undefined) => void;
  reject: (error: Error) => void;
}

/** Worker threads that create batches. Each thread answers its requests in order. */
export class LoaderThreads {
  readonly #threads: LoaderThread[];
  /** Memory of batches that are no longer in use; undefined without `reuseMemory`. */
  readonly #free: ArrayBuffer[][] | undefined;

  /** @throws InvalidArgumentError if `data` cannot be cloned */
  constructor(count: number, data: LoaderThreadData, { reuseMemory }: { reuseMemory: boolean }) {
    this.#free = reuseMemory ? [] : undefined;
    this.#threads = Array.from({ length: count }, (_, index) => new LoaderThread(index, data));
  }

  /**
   * Requests a batch of thread `index`. Resolves with undefined at the end of its share, and rejects with
   * `DataLoaderWorkerError` if the batch cannot be created.
   */
  load(index: number, wanted: Wanted): Promise<MadeBatch | undefined> {
    return this.#threads[index].load(wanted, this.#free && (this.#free.pop() ?? []));
  }

  /** Releases a batch: its arrays are empty afterwards, and its memory is sent with a later request. */
  reclaim({ memory }: MadeBatch): void {
    this.#free?.push(emptied(memory));
  }

  /** Threads keep the process alive only while a batch is awaited, so an abandoned loop does not. */
  async waitFor<T>(batch: Promise<T>): Promise<T> {
    for (const thread of this.#threads) thread.worker.ref();
    try {
      return await batch;
    } finally {
      for (const thread of this.#threads) thread.worker.unref();
    }
  }

  /** Batches in progress are discarded. */
  async end(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}

class LoaderThread {
  readonly worker: Worker;
  readonly #index: number;
  readonly #pending: Pending[] = [];
  /** The error that ended the thread. */
  #ended: DataLoaderWorkerError | undefined;

  constructor(index: number, data: LoaderThreadData) {
    this.#index = index;
    this.worker = startWorker(data);
    this.worker.unref();
    this.worker.on('message', (reply: BatchReply) => {
      this.#settle(reply);
    });
    this.worker.on('error', (error) => {
      this.#fail(describe(error), error);
    });
    this.worker.on('messageerror', (error) => {
      this.#fail(`its batch did not arrive: ${error.message}`, error);
    });
    this.worker.on('exit', (code) => {
      this.#fail(`its thread ended with exit code ${code}`);
    });
  }

  load(request: Wanted, memory: ArrayBuffer[] | undefined): Promise<MadeBatch | undefined> {
    const batch = new Promise<MadeBatch | undefined>((resolve, reject) => {
      if (this.#ended) {
        reject(this.#ended);
        return;
      }
      this.#pending.push({ request, resolve, reject });
      this.worker.postMessage({ ...request, memory } satisfies BatchRequest, memory);
    });
    // Batches after a failed one are not awaited.
    batch.catch(() => undefined);
    return batch;
  }

  async end(): Promise<void> {
    this.worker.removeAllListeners();
    await this.worker.terminate();
  }

  #settle(reply: BatchReply): void {
    const request = this.#pending.shift();
    // A reply may arrive after the error that ended the thread.
    if (!request) return;
    const { resolve, reject } = request;
    if ('batch' in reply) resolve(reply);
    else if ('ended' in reply) resolve(undefined);
    else reject(new DataLoaderWorkerError(this.#index, reply.index, describe(reply.failure), reply.failure));
  }

  #fail(what: string, cause?: unknown): void {
    const request = this.#pending.at(0)?.request;
    const doing = request && 'indices' in request ? `, over a batch of ${nameSome(request.indices)}` : '';
    this.#ended ??= new DataLoaderWorkerError(this.#index, undefined, what + doing, cause);
    for (const { reject } of this.#pending.splice(0)) reject(this.#ended);
  }
}

function startWorker(data: LoaderThreadData): Worker {
  // The thread's file has the same extension as this one: .ts in the repository, .js when built.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./loader-thread.${extension}`, import.meta.url);
  // Built datasets of ringrun do not need the program's loaders; a user's module may be TypeScript.
  const isOwn = extension === 'js' && isBuiltIn(data);
  try {
    return new Worker(entry, { workerData: data, ...(isOwn ? { execArgv: [] } : {}) });
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'DataCloneError') throw error;
    throw new InvalidArgumentError(
      `DataLoader: numWorkers: expected a dataset whose arguments can be cloned, got others: ${error.message} ` +
        'Pass only data to datasetFromModule, and create everything else in the module.',
      { cause: error },
    );
  }
}

/** True for a dataset of ringrun, and for one composed of such datasets, as Subset. */
function isBuiltIn({ module, args }: WorkerDataset): boolean {
  const parts = args.filter(
    (arg): arg is WorkerDataset =>
      typeof arg === 'object' && arg !== null && 'module' in arg && 'args' in arg,
  );
  return module.startsWith(new URL('../', import.meta.url).href) && parts.every(isBuiltIn);
}

/** The worker's stack starts with the error message. */
function describe(failure: unknown): string {
  return failure instanceof Error ? (failure.stack ?? String(failure)) : String(failure);
}

function nameSome(indices: readonly number[]): string {
  const some = indices.slice(0, 8).join(', ');
  return indices.length > 8 ? `${indices.length} samples (${some}, …)` : `samples ${some}`;
}
