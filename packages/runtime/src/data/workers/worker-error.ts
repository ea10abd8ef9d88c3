import { RingrunError } from '@ringrun/core';

/** A worker thread of a `DataLoader` failed to create a batch. The cause has the thread's stack. */
export class DataLoaderWorkerError extends RingrunError {
  /** Index of the worker, from 0. */
  readonly worker: number;
  /** Index of the sample that failed; undefined if it is not a single sample. */
  readonly index: number | undefined;

  constructor(worker: number, index: number | undefined, what: string, cause?: unknown) {
    const place = index === undefined ? '' : ` at sample ${index}`;
    super('ERR_DATA_LOADER_WORKER', `DataLoader: worker ${worker} failed${place}: ${what}`, { cause });
    this.worker = worker;
    this.index = index;
  }
}
