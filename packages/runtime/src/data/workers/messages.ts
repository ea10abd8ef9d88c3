import type { DataPass, WorkerDataset } from '../dataset.ts';

/** The data of a new worker thread. */
export interface LoaderThreadData extends WorkerDataset {
  /** Whether the thread collates; otherwise it sends samples. */
  collates: boolean;
}

/** A requested batch. */
export interface BatchRequest {
  indices: readonly number[];
  pass: DataPass;
  /** Memory of earlier batches that are no longer in use; undefined without `reuseMemory`. */
  memory: ArrayBuffer[] | undefined;
}

/** A created batch. */
export interface MadeBatch {
  batch: unknown;
  /** The parts of its memory that may be reused. */
  memory: readonly ArrayBuffer[];
}

/** A batch or a failure, in the order of the requests. */
export type BatchReply = MadeBatch | { failure: unknown; index: number | undefined };
