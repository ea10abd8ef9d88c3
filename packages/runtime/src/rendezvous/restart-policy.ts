/** What a job has left of its restarts. */
export interface Budget {
  /** --max-restarts: for the whole job, on whichever nodes. */
  readonly maxRestarts: number;
  readonly restartsUsed: number;
  /** Fingerprint of the failure with which the last round ended at its start. */
  readonly lastStartUpFailure: string | undefined;
}

/** Why a round is over. */
export interface RoundEnd {
  /** Whether a node came, left or died: that is nobody's failure. */
  readonly nodesChanged: boolean;
  /** Equal for equal failures at the start of the workers. */
  readonly startUpFailure: string | undefined;
}

/** `reason` completes the sentence "the job has failed: …", or "the workers are started again: …". */
export type AfterRound =
  | { readonly kind: 'restart'; readonly budget: Budget; readonly reason: string }
  | { readonly kind: 'fail'; readonly reason: string };

/**
 * Whether workers are started again after a round that did not finish; pure. One failure, on whichever node, uses one restart of the job's
 * (torch counts on each node for itself). A change of the nodes uses none, as in torch: survivors fail because of the one that died.
 *
 * A failure at the start that repeats itself word for word, with one stack, is no accident: further restarts would only hide it.
 */
export function afterRound({ nodesChanged, startUpFailure }: RoundEnd, budget: Budget): AfterRound {
  const { maxRestarts, restartsUsed, lastStartUpFailure } = budget;
  if (nodesChanged) {
    return { kind: 'restart', budget, reason: 'the nodes have changed, which uses up no restart' };
  }
  if (startUpFailure !== undefined && startUpFailure === lastStartUpFailure) {
    return { kind: 'fail', reason: 'its start failed twice in the same way, so further restarts are no use' };
  }
  if (restartsUsed >= maxRestarts) return { kind: 'fail', reason: describeSpent(maxRestarts) };
  return {
    kind: 'restart',
    budget: { maxRestarts, restartsUsed: restartsUsed + 1, lastStartUpFailure: startUpFailure },
    reason: `restart ${restartsUsed + 1} of ${maxRestarts}`,
  };
}

function describeSpent(maxRestarts: number): string {
  return maxRestarts === 0 ? 'no restarts were asked for' : `all ${maxRestarts} restarts are used up`;
}
