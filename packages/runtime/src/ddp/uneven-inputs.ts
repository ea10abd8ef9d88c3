import { CollectiveMismatchError, PeerDiedError, RingrunError } from '@ringrun/collectives';

/** A rank does something else while others average gradients: as a rule it has had fewer batches, and left the loop. */
export class UnevenInputsError extends RingrunError {
  /** In which it was noticed; the first one is 1. */
  readonly step: number;

  constructor(step: number, cause: CollectiveMismatchError, remedy: string = remedies.join) {
    super(
      'ERR_UNEVEN_INPUTS',
      `in step ${step} of DistributedDataParallel ${cause.message}. Where a rank has fewer batches than others, ${remedy}`,
      { cause },
    );
    this.step = step;
  }
}

/** By how gradients are averaged: `join` awaits the steps of others. */
const remedies = {
  join: 'run the loop inside of `await ddp.join(async () => { … })`, or give every rank as many batches (with SyncBatchNorm the only way)',
  synchronous: 'give every rank as many batches',
};

/** An error of a step's collectives, with the step, and what to do where the reason is that a rank had fewer batches. Others stay as they are. */
export function inStep(step: number, error: unknown, remedy: keyof typeof remedies = 'join'): unknown {
  if (error instanceof CollectiveMismatchError) return new UnevenInputsError(step, error, remedies[remedy]);
  if (error instanceof PeerDiedError) {
    const hint = `It was needed in step ${step} of DistributedDataParallel; where it ended because it had fewer batches, ${remedies[remedy]}`;
    return new PeerDiedError(error.peer, error.operation, `${error.message}. ${hint}`);
  }
  return error;
}
