import type { DataPass, WorkerDataset } from '../dataset.ts';

/** What a worker thread starts with. */
export interface LoaderThreadData extends WorkerDataset {
  /** Whether the thread collates; otherwise it hands over samples. */
  collates: boolean;
}

/** A batch that is wanted. */
export interface BatchRequest {
  indices: readonly number[];
  pass: DataPass;
  /** What earlier batches took and nobody uses any more; undefined where batches are kept. */
  memory: ArrayBuffer[] | undefined;
}

/** A batch that was made. */
export interface MadeBatch {
  batch: unknown;
  /** The parts of its memory that may be used again. */
  memory: readonly ArrayBuffer[];
}

/** A batch, or why there is none; in the order of the requests. */
export type BatchReply = MadeBatch | { failure: unknown; index: number | undefined };
