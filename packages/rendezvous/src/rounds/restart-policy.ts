import { delayBeforeRestart } from './restart-backoff.ts';
import type { RestartBackoff } from './restart-backoff.ts';

/** The restarts that a job has used and may use. */
export interface RestartBudget {
  /** --max-restarts: for the whole job, on all nodes together. */
  readonly maxRestarts: number;
  readonly restartsUsed: number;
  /** Fingerprint of the last round's failure, if it failed during start-up. */
  readonly lastStartUpFailure: string | undefined;
  /** Number of rounds in a row that failed before they were healthy. */
  readonly quickFailures: number;
}

/** Why a round ended. */
export interface RoundOutcome {
  /** Whether a node joined, left or died, which does not count as a failure. */
  readonly nodesChanged: boolean;
  /** Fingerprint of a failure during start-up, equal for equal failures. */
  readonly startUpFailure: string | undefined;
  /** The nodes that died or left, if no node may replace them, such as `node 1 (host1, pid 17) died: …`. */
  readonly irreplaceable?: string | undefined;
  /** Whether the round failed before it was healthy, including by the death of a node. */
  readonly failedSoon: boolean;
}

/** `reason` completes "the job failed: …" or "restarting the workers: …". */
export type RestartDecision =
  | {
      readonly kind: 'restart';
      readonly budget: RestartBudget;
      /** Milliseconds to wait before the workers are started. */
      readonly delayMs: number;
      readonly reason: string;
    }
  | { readonly kind: 'fail'; readonly reason: string };

/**
 * Decides whether the workers are restarted after a round that did not finish; pure. A failure on any node uses one
 * restart of the job (torch counts per node). A change of the nodes uses none, as in torch, unless nothing can replace
 * a lost node.
 *
 * If the same start-up failure occurs twice, with the same message and stack, the job fails: restarts would only hide
 * it.
 */
export function decideRestart(
  { nodesChanged, startUpFailure, irreplaceable, failedSoon }: RoundOutcome,
  budget: RestartBudget,
  backoff: RestartBackoff,
): RestartDecision {
  const { maxRestarts, restartsUsed, lastStartUpFailure } = budget;
  const quickFailures = failedSoon ? budget.quickFailures + 1 : 0;
  const delayMs = delayBeforeRestart(quickFailures, backoff);
  const delay = delayMs > 0 ? describeDelay(quickFailures, delayMs, backoff) : '';
  if (irreplaceable !== undefined) {
    return { kind: 'fail', reason: `${irreplaceable}; ${describeSpent(maxRestarts)}` };
  }
  if (nodesChanged) {
    const reason = `the nodes changed, which uses no restart${delay}`;
    return { kind: 'restart', budget: { ...budget, quickFailures }, delayMs, reason };
  }
  if (startUpFailure !== undefined && startUpFailure === lastStartUpFailure) {
    return {
      kind: 'fail',
      reason: 'the start failed twice in the same way, so another restart would not help',
    };
  }
  if (restartsUsed >= maxRestarts) return { kind: 'fail', reason: describeSpent(maxRestarts) };
  return {
    kind: 'restart',
    budget: {
      maxRestarts,
      restartsUsed: restartsUsed + 1,
      lastStartUpFailure: startUpFailure,
      quickFailures,
    },
    delayMs,
    reason: `restart ${restartsUsed + 1} of ${maxRestarts}${delay}`,
  };
}

function describeSpent(maxRestarts: number): string {
  return maxRestarts === 0 ? '--max-restarts is 0' : `all ${maxRestarts} restarts are used`;
}

function describeDelay(quickFailures: number, delayMs: number, { healthyMs }: RestartBackoff): string {
  return ` in ${delayMs / 1000} s, because ${quickFailures} starts in a row failed within ${healthyMs / 1000} s`;
}
