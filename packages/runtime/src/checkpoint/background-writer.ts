import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import { errorOf, failureOf } from './checkpoint-error.ts';
import { finishWriteBeforeExit } from './exit-handling.ts';
import type { WriteOutcome } from './exit-handling.ts';
import type { WriteJob, Written } from './write-checkpoint.ts';
import { ownIdentity } from './writer-identity.ts';
import type { WriterReport, WriterThreadData } from './writer-thread.ts';

/** Returns memory for a file of `bytes` bytes; its content is arbitrary. */
export type Allocate = (file: string, bytes: number) => Uint8Array<ArrayBuffer>;

/**
 * Writes checkpoints in a separate thread, so hashing and disk writes do not block training. The thread keeps
 * the process alive only while it writes. A process that exits during a write waits for it (`exit-handling.ts`).
 */
export class BackgroundWriter {
  readonly #location: string;
  #thread: WriterThread | undefined;
  /** The memory of the last checkpoint. It is reused because its pages are already mapped. */
  #spare: WriteJob['files'] = new Map();

  constructor(location: string) {
    this.#location = location;
  }

  readonly allocate: Allocate = (file, bytes) => {
    const spare = this.#spare.get(file);
    return spare?.length === bytes ? (spare as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
  };

  /** Transfers the files' memory to the thread at once. One job at a time. */
  async write(job: WriteJob): Promise<Written> {
    const { files, outcome } = await this.#carryOut(job);
    this.#spare = files;
    if ('failure' in outcome) throw errorOf(outcome.failure);
    return outcome.written;
  }

  /** Ends the thread until the next write. No write may be in progress. */
  async end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.end();
  }

  async #carryOut(job: WriteJob): Promise<WriterReport> {
    const thread = (this.#thread ??= new WriterThread(this.#location));
    const what = `the checkpoint of step ${job.saveInfo.step} for ${this.#location}`;
    const release = finishWriteBeforeExit({ what, finishSync: (withinMs) => thread.finishSync(withinMs) });
    try {
      return await thread.carryOut(job);
    } catch (error) {
      this.#thread = undefined;
      return { files: new Map(), outcome: { failure: failureOf(error) } };
    } finally {
      release();
    }
  }
}

/** `writerState.writing` of writer-thread.ts, which only a thread may import. */
const writing = 0;

class WriterThread {
  readonly #worker: Worker;
  readonly #reports: MessagePort;
  readonly #state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  constructor(location: string) {
    const { port1, port2 } = new MessageChannel();
    this.#reports = port1;
    const state = this.#state.buffer;
    const workerData: WriterThreadData = { location, identity: ownIdentity, reports: port2, state };
    // The thread's file has the same extension as this one: .ts in the repository, .js when built.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const entry = new URL(`./writer-thread.${extension}`, import.meta.url);
    // The built file does not need the program's loaders.
    const options = extension === 'js' ? { execArgv: [] } : {};
    this.#worker = new Worker(entry, { workerData, transferList: [port2], ...options });
  }

  /** @throws Error if the thread ends before its report */
  async carryOut(job: WriteJob): Promise<WriterReport> {
    const report = this.#nextReport();
    Atomics.store(this.#state, 0, writing);
    this.#worker.ref();
    const memory = [...job.files.values()].map(({ buffer }) => buffer as ArrayBuffer);
    this.#worker.postMessage(job, memory);
    return await report.finally(() => {
      this.#worker.unref();
    });
  }

  /**
   * Blocks until the job is complete. It reads the report synchronously, because the event loop may never run
   * again.
   */
  finishSync(withinMs: number): WriteOutcome {
    if (Atomics.wait(this.#state, 0, writing, withinMs) === 'timed-out') return { kind: 'unfinished' };
    const received = receiveMessageOnPort(this.#reports) as { message: WriterReport } | undefined;
    if (received === undefined) return { kind: 'failed', reason: 'the writer thread has ended' };
    const { outcome } = received.message;
    return 'failure' in outcome ? { kind: 'failed', reason: outcome.failure.message } : { kind: 'written' };
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #nextReport(): Promise<WriterReport> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        this.#worker.off('error', fail).off('exit', end);
        this.#reports.off('message', take);
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
        fail(new Error(`the checkpoint writer thread ended with exit code ${code}`));
      };
      this.#worker.on('error', fail).on('exit', end);
      this.#reports.on('message', take);
      // Only the worker may keep the process alive.
      this.#reports.unref();
    });
  }
}
