import type { ReusedMemory } from '../batch-memory.ts';
import type { BatchMemory } from '../dataset.ts';
import type { LoaderThreads } from '../workers/loader-threads.ts';
import type { MadeBatch, Wanted } from '../workers/messages.ts';
import type { BatchMaker } from './batch-maker.ts';
import type { MemoryPool } from './memory-pool.ts';

/** Makes batches in worker threads, and the rest of each in the thread of the loop. */
export class WorkerMaker<Batch> implements BatchMaker<Batch> {
  readonly ahead: number;
  readonly threads: LoaderThreads;
  readonly #finish: (made: MadeBatch, memory: BatchMemory | undefined) => Batch;
  readonly #pool: MemoryPool;
  readonly #reused = new Map<MadeBatch, ReusedMemory | undefined>();

  constructor(
    threads: LoaderThreads,
    finish: (made: MadeBatch, memory: BatchMemory | undefined) => Batch,
    { pool, ahead }: { pool: MemoryPool; ahead: number },
  ) {
    this.threads = threads;
    this.#finish = finish;
    this.#pool = pool;
    this.ahead = ahead;
  }

  load(reader: number, wanted: Wanted): Promise<MadeBatch | undefined> {
    return this.threads.load(reader, wanted);
  }

  waitFor<T>(loading: Promise<T>): Promise<T> {
    return this.threads.waitFor(loading);
  }

  finish(made: MadeBatch): Batch {
    const reused = this.#pool.take();
    this.#reused.set(made, reused);
    return this.#finish(made, reused);
  }

  reclaim(made: MadeBatch): void {
    this.threads.reclaim(made);
    this.#pool.giveBack(this.#reused.get(made));
    this.#reused.delete(made);
  }

  /** Awaiting a thread yields to the event loop. */
  async pause(): Promise<void> {
    // Nothing to do.
  }
}
