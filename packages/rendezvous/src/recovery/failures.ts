import { CollectiveTimeoutError, PeerDiedError, RingrunError, StoreTimeoutError } from '@ringrun/core';

/** A survivor or a joining process found that the generation cannot be formed. */
export class FormationAbandonedError extends Error {}

/** Whether the surviving ranks can continue after this error. */
export function isRecoverable(error: unknown): boolean {
  return (
    error instanceof PeerDiedError ||
    error instanceof CollectiveTimeoutError ||
    error instanceof StoreTimeoutError ||
    error instanceof FormationAbandonedError ||
    (error instanceof RingrunError && error.code === 'ERR_GROUP_CLOSED')
  );
}

/** A rank that is late while a group is formed may only be slow; it has more time in the next attempt. */
export function whileForming(error: unknown): unknown {
  return error instanceof CollectiveTimeoutError ? undefined : error;
}

export function recoveryFailed(reason: string): RingrunError {
  return new RingrunError('ERR_RECOVERY_FAILED', `Recovery failed: ${reason}.`);
}

export function jobEnded(reason: string): RingrunError {
  return new RingrunError(
    'ERR_JOB_ENDED',
    `This process did not join the job: ${reason}. Start all ranks to run a new job.`,
  );
}

export function rankRemoved(rank: number): RingrunError {
  return new RingrunError(
    'ERR_RANK_REMOVED',
    `Rank ${rank} was removed from the job: the other ranks could not reach it and continued without it. Restart it to join again.`,
  );
}
