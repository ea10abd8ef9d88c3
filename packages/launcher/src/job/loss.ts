import type { JobPhase } from '@ringrun/rendezvous';

/** How a worker of a fault-tolerant job ended, and what its launcher knows of the job at that time. */
export interface LossFacts {
  /** The job according to its store; undefined if it has not begun, or if the store does not answer. */
  readonly job: LossOfJob | undefined;
  /** Whether a worker of this node left the job and ended with 0. */
  readonly hasFinished: boolean;
  /** Whether the worker ended by its own error, not by a signal or because the other ranks continued without it. */
  readonly isOwnError: boolean;
  /** Whether its replacement may be started. */
  readonly mayReplace: boolean;
}

export interface LossOfJob {
  readonly phase: JobPhase;
  /** Whether the worker was started in place of another one and has never been a rank of the job's group. */
  readonly isOutside: boolean;
  /** Whether other members of the group are left: they run, or have left the job after its last step. */
  readonly othersRemain: boolean;
}

/**
 * `fatal`: the job fails, and the other workers are stopped. `late`: the job fails, but the others write their results first.
 * `outlived`: the others continue without the worker. `replaced`: and another process takes its place. `unneeded`: the training
 * ended before the worker could join.
 */
export type LossKind = 'fatal' | 'late' | 'outlived' | 'replaced' | 'unneeded';

/** What the end of a worker that did not end with 0 means for a fault-tolerant job; pure. */
export function judgeLoss({ job, hasFinished, isOwnError, mayReplace }: LossFacts): LossKind {
  const isFinishedWithout = hasFinished && !isOwnError;
  if (job === undefined) return isFinishedWithout ? 'outlived' : 'fatal';
  const { phase, isOutside, othersRemain } = job;
  if (phase === 'training') {
    if (othersRemain) return mayReplace ? 'replaced' : 'outlived';
    return isFinishedWithout ? 'outlived' : 'fatal';
  }
  if (isOutside) return 'unneeded';
  if (!othersRemain && !hasFinished) return 'fatal';
  // A failed export must not pass for a success.
  return isOwnError ? 'late' : 'outlived';
}
