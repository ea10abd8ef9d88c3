import { RingrunError } from '@ringrun/core';
import type { Session } from '../process-group/session.ts';

/** Explains the loss of the store during recovery: without a launcher, it ends with rank 0. */
export async function namingServer<T>(session: Session, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const isLost = error instanceof RingrunError && error.code === 'ERR_STORE_LOST';
    if (!isLost || !session.servedByRank0) throw error;
    throw new RingrunError(
      'ERR_STORE_LOST',
      `Recovery failed: rank 0, which serves the store, has ended, and without the store the ranks cannot form their group again (${error.message}) ` +
        'Start the job with ringrun, whose store does not end with a rank, or pass a store to initProcessGroup.',
      { cause: error },
    );
  }
}
