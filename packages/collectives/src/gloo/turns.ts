import { RingrunError } from '../errors.ts';

/**
 * Keeps the operations of a group in the order of their calls where one of them takes several steps: what is called meanwhile begins after
 * its last step, so that it meets its like on the other ranks, whose steps may end earlier or later.
 */
export class Turns {
  #underWay: Promise<void> | undefined;

  /** Begins an operation at once, or after what takes several steps. */
  inOrder<Result>(operate: () => Promise<Result>): Promise<Result> {
    return this.#underWay ? this.#underWay.then(operate) : operate();
  }

  /** The same for an operation of several steps. */
  severalSteps<Result>(operate: () => Promise<Result>): Promise<Result> {
    const result = this.inOrder(operate);
    // Its failure is its caller's; those who come next begin all the same.
    const over = result.then(nothing, nothing);
    this.#underWay = over;
    void over.then(() => {
      if (this.#underWay === over) this.#underWay = undefined;
    });
    return result;
  }

  /** For an operation that ends before it returns, and so cannot wait. */
  refuseWhileUnderWay(): void {
    if (this.#underWay === undefined) return;
    throw new RingrunError(
      'ERR_OBJECT_UNDER_WAY',
      'a synchronous operation was called while an object is under way in this group, and cannot wait for it: ' +
        'await the promise of broadcastObject, allGatherObject, gatherObject or scatterObject first',
    );
  }
}

function nothing(): void {
  // Only the time matters.
}
