import type { Store } from '@ringrun/core';
import type { RootCause, WorkersEnd } from './rendezvous-state.ts';
import type { Round } from './round.ts';

/** The operations of the rendezvous on the workers of this node. */
export interface WorkerControl {
  /** Returns a port that workers on this host can bind. */
  findFreePort(): Promise<number>;
  /**
   * Starts the workers of a round. Those of the previous round must have ended.
   *
   * @param currentStore The store of the job; undefined without a connection.
   */
  start(round: Round, currentStore: () => Store | undefined): RunningWorkers;
}

/** The workers of this node in one round. */
export interface RunningWorkers {
  /** Resolves when the first worker has failed, before the others are stopped; may never resolve. */
  readonly failing: Promise<void>;
  /** Resolves when all workers and their child processes have ended. Never rejects. */
  readonly ended: Promise<{ end: WorkersEnd; rootCause: RootCause | undefined }>;
  /** Sends SIGTERM, and SIGKILL after `withinMs`; to workers that are writing a checkpoint, after `savingWithinMs`. */
  end(withinMs: number, savingWithinMs: number): void;
  /** The workers end by themselves if this is not called again within `withinMs`, such as after SIGSTOP. */
  mustRenewWithin(withinMs: number): void;
}
