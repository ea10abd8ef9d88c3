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
}

/** A batch, or why there is none; in the order of the requests. */
export type BatchReply = { batch: unknown } | { failure: unknown; index: number | undefined };
