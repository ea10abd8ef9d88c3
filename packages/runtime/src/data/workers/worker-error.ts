import { RingrunError } from '@ringrun/collectives';

/** A worker thread of a `DataLoader` could not make a batch. The cause has the thread's own stack. */
export class DataLoaderWorkerError extends RingrunError {
  /** From 0. */
  readonly worker: number;
  /** The sample that failed; undefined when it is not one alone. */
  readonly index: number | undefined;

  constructor(worker: number, index: number | undefined, what: string, cause?: unknown) {
    const place = index === undefined ? '' : ` at sample ${index}`;
    super('ERR_DATA_LOADER_WORKER', `DataLoader: worker ${worker} failed${place}: ${what}`, { cause });
    this.worker = worker;
    this.index = index;
  }
}
