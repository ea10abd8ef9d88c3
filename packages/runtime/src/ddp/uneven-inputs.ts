import { CollectiveMismatchError, PeerDiedError, RingrunError } from '@ringrun/collectives';

/** A rank does something else while others average gradients: as a rule it has had fewer batches, and left the loop. */
export class UnevenInputsError extends RingrunError {
  /** In which it was noticed; the first one is 1. */
  readonly step: number;

  constructor(step: number, cause: CollectiveMismatchError) {
    super(
      'ERR_UNEVEN_INPUTS',
      `in step ${step} of DistributedDataParallel ${cause.message}. Where a rank has fewer batches than others, ${howToMend}`,
      { cause },
    );
    this.step = step;
  }
}

const howToMend =
  'run the loop inside of `await ddp.join(async () => { … })`, or give every rank as many batches (with SyncBatchNorm the only way)';

/** An error of a step's collectives, with the step, and what to do where the reason is that a rank had fewer batches. Others stay as they are. */
export function inStep(step: number, error: unknown): unknown {
  if (error instanceof CollectiveMismatchError) return new UnevenInputsError(step, error);
  if (error instanceof PeerDiedError) {
    const hint = `It was needed in step ${step} of DistributedDataParallel; where it ended because it had fewer batches, ${howToMend}`;
    return new PeerDiedError(error.peer, error.operation, `${error.message}. ${hint}`);
  }
  return error;
}
