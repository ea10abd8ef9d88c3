import type { MadeBatch, Wanted } from '../workers/messages.ts';

/** Makes the batches of a loader: in the thread of the loop, or in worker threads. */
export interface BatchMaker<Batch> {
  /** Batches to request before the loop needs them; 0 if requesting one blocks this thread until it is made. */
  readonly ahead: number;
  /** Requests a batch; undefined at the end of the reader's share. */
  load(reader: number, wanted: Wanted): Promise<MadeBatch | undefined>;
  /** Awaits a requested batch. */
  waitFor<T>(loading: Promise<T>): Promise<T>;
  /** The batch for the loop. */
  finish(made: MadeBatch): Batch;
  /** Accepts the memory of a batch that the loop no longer uses. */
  reclaim(made: MadeBatch): void;
  /** Called between batches. */
  pause(): Promise<void>;
}
