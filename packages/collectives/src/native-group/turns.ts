import { RingrunError } from '@ringrun/core';

/**
 * Keeps a group's operations in call order if one of them has several steps: an operation called meanwhile starts after
 * the last step. Otherwise ranks whose steps end at different times would run operations in different orders.
 */
export class Turns {
  #underWay: Promise<void> | undefined;

  /** Starts an operation immediately, or after the pending multi-step operation. */
  inOrder<Result>(operate: () => Promise<Result>): Promise<Result> {
    return this.#underWay ? this.#underWay.then(operate) : operate();
  }

  /** Starts an operation of several steps. */
  severalSteps<Result>(operate: () => Promise<Result>): Promise<Result> {
    const result = this.inOrder(operate);
    // Its caller handles its failure; later operations start regardless.
    const over = result.then(nothing, nothing);
    this.#underWay = over;
    void over.then(() => {
      if (this.#underWay === over) this.#underWay = undefined;
    });
    return result;
  }

  /** Whether an operation of several steps is pending. */
  get isUnderWay(): boolean {
    return this.#underWay !== undefined;
  }

  /** For synchronous operations, which cannot wait for a turn. */
  refuseWhileUnderWay(): void {
    if (this.#underWay === undefined) return;
    throw new RingrunError(
      'ERR_OBJECT_UNDER_WAY',
      'a synchronous operation was called while an object collective of this group is pending: ' +
        'await the promise of broadcastObject, allGatherObject, gatherObject or scatterObject first',
    );
  }
}

function nothing(): void {
  // The result is not needed.
}
