import type { DataPass, DataShare, WorkerDataset } from '../dataset.ts';
import type { BatchIdentity } from '../loading/batch-identity.ts';
import type { BatchTransform } from '../transforms/mix.ts';

/** The data of a new worker thread. */
export interface LoaderThreadData extends WorkerDataset {
  /** Whether the thread collates; otherwise it sends samples. */
  collates: boolean;
  /** Applied to collated batches. */
  batchTransform: BatchTransform | undefined;
}

/** The samples of a batch: those at `indices` of a dataset, or the next ones of a share of an iterable dataset. */
export type Wanted = { indices: readonly number[]; pass: DataPass } | WantedNext;

/** The next batch of an iterable dataset. */
export interface WantedNext {
  /** Begin reading this share, in batches of `batchSize`; undefined to continue. */
  begin: { share: DataShare; batchSize: number } | undefined;
  /** Skip the batch without creating it. */
  skip: boolean;
  /** Drop a batch of fewer than `batchSize` samples. */
  dropLast: boolean;
}

/** A requested batch. */
export type BatchRequest = Wanted & {
  /** Memory of earlier batches that are no longer in use; undefined without `reuseMemory`. */
  memory: ArrayBuffer[] | undefined;
};

/** A created batch. */
export interface MadeBatch {
  /** Undefined if it was skipped. */
  batch: unknown;
  /** The parts of its memory that may be reused. */
  memory: readonly ArrayBuffer[];
  /** Of samples that the thread of the loop collates and transforms; otherwise undefined. */
  identity?: BatchIdentity | undefined;
}

/** A batch, the end of a share, or a failure; in the order of the requests. */
export type BatchReply = MadeBatch | { ended: true } | { failure: unknown; index: number | undefined };
