import { Worker } from 'node:worker_threads';
import { failureOf } from './checkpoint-error.ts';
import type { WriteJob, Written } from './write-checkpoint.ts';
import type { WriterReport, WriterThreadData } from './writer-thread.ts';

/** Memory for a file of so many bytes, whose content does not matter. */
export type Allocate = (file: string, bytes: number) => Uint8Array<ArrayBuffer>;

/**
 * Writes checkpoints in a thread of its own, so that neither hashing nor the disk holds up the training thread, and the writing goes on while that
 * computes. The thread keeps the process alive while it writes, and not otherwise.
 */
export class BackgroundWriter {
  readonly #location: string;
  #worker: Worker | undefined;
  /** The memory of the last checkpoint, whose pages are there already. */
  #spare: WriteJob['files'] = new Map();

  constructor(location: string) {
    this.#location = location;
  }

  readonly allocate: Allocate = (file, bytes) => {
    const spare = this.#spare.get(file);
    return spare?.length === bytes ? (spare as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
  };

  /** The files' memory goes to the thread at once. One job at a time. */
  async write(job: WriteJob): Promise<Written> {
    const { files, outcome } = await this.#carryOut(job);
    this.#spare = files;
    if ('failure' in outcome) throw Object.assign(new Error(outcome.failure.message), outcome.failure);
    return outcome.written;
  }

  async #carryOut(job: WriteJob): Promise<WriterReport> {
    this.#worker ??= startThread(this.#location);
    const worker = this.#worker;
    const reported = reportOf(worker);
    worker.ref();
    worker.postMessage(
      job,
      [...job.files.values()].map(({ buffer }) => buffer as ArrayBuffer),
    );
    try {
      return await reported;
    } catch (error) {
      this.#worker = undefined;
      return { files: new Map(), outcome: { failure: failureOf(error) } };
    } finally {
      worker.unref();
    }
  }
}

/** The thread's next message; rejects when it ends instead. */
function reportOf(worker: Worker): Promise<WriterReport> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void) => {
      worker.off('message', take).off('error', fail).off('exit', end);
      act();
    };
    const take = (report: WriterReport) => {
      settle(() => {
        resolve(report);
      });
    };
    const fail = (error: Error) => {
      settle(() => {
        reject(error);
      });
    };
    const end = (code: number) => {
      fail(new Error(`the thread that writes checkpoints ended with exit code ${code}`));
    };
    worker.on('message', take).on('error', fail).on('exit', end);
  });
}

function startThread(location: string): Worker {
  const workerData: WriterThreadData = { location };
  // The neighbour of this file, built or not.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./writer-thread.${extension}`, import.meta.url);
  // Built, it needs none of the loaders that the program may run under.
  return new Worker(entry, { workerData, ...(extension === 'js' ? { execArgv: [] } : {}) });
}
