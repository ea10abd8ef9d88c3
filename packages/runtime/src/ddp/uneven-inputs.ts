import { CollectiveMismatchError, PeerDiedError, RingrunError } from '@ringrun/core';

/**
 * A rank runs another operation while others average gradients. Usually it had fewer batches and left the
 * loop.
 */
export class UnevenInputsError extends RingrunError {
  /** The step in which it was detected, from 1; the first of several that ran in one call. */
  readonly step: number;
  /** The operation that this rank called. */
  readonly operation: string;

  constructor(step: number, cause: CollectiveMismatchError, remedy: string = remedies.join, passes = 1) {
    super(
      'ERR_UNEVEN_INPUTS',
      `${named(step, passes)} of DistributedDataParallel: ${cause.message}. If a rank has fewer batches than others, ${remedy}.`,
      { cause },
    );
    this.step = step;
    this.operation = cause.operation;
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
 *
 * @param options `passes`: the number of steps that ran in one call, of which `step` is the first. Default: 1.
 */
export function inStep(
  step: number,
  error: unknown,
  { passes = 1, remedy = 'join' }: { passes?: number | undefined; remedy?: keyof typeof remedies } = {},
): unknown {
  if (error instanceof CollectiveMismatchError) {
    return new UnevenInputsError(step, error, remedies[remedy], passes);
  }
  if (error instanceof PeerDiedError) {
    const hint = `It was needed in ${named(step, passes)} of DistributedDataParallel. If it ended because it had fewer batches, ${remedies[remedy]}.`;
    return new PeerDiedError(error.peers, error.operation, `${error.message}. ${hint}`);
  }
  return error;
}

function named(step: number, passes: number): string {
  return passes === 1 ? `step ${step}` : `one of the steps ${step} to ${step + passes - 1}`;
}
