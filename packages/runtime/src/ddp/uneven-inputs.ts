import { CollectiveMismatchError, PeerDiedError, RingrunError } from '@ringrun/collectives';

/**
 * A rank runs another operation while others average gradients. Usually it had fewer batches and left the
 * loop.
 */
export class UnevenInputsError extends RingrunError {
  /** The step in which it was detected, from 1. */
  readonly step: number;

  constructor(step: number, cause: CollectiveMismatchError, remedy: string = remedies.join) {
    super(
      'ERR_UNEVEN_INPUTS',
      `step ${step} of DistributedDataParallel: ${cause.message}. If a rank has fewer batches than others, ${remedy}.`,
      { cause },
    );
    this.step = step;
  }
}

/** Remedies by kind of backward pass: a synchronous one cannot use `join`. */
const remedies = {
  join: 'run the loop inside `await ddp.join(async () => { … })`, or give every rank the same number of batches (the only way with SyncBatchNorm)',
  synchronous: 'give every rank the same number of batches',
};

/**
 * Adds the step, and a remedy for uneven numbers of batches, to an error of a step's collectives. Returns
 * other errors unchanged.
 */
export function inStep(step: number, error: unknown, remedy: keyof typeof remedies = 'join'): unknown {
  if (error instanceof CollectiveMismatchError) return new UnevenInputsError(step, error, remedies[remedy]);
  if (error instanceof PeerDiedError) {
    const hint = `It was needed in step ${step} of DistributedDataParallel. If it ended because it had fewer batches, ${remedies[remedy]}.`;
    return new PeerDiedError(error.peers, error.operation, `${error.message}. ${hint}`);
  }
  return error;
}
