/**
 * How the failure of a worker relates to the others of its round, from the kind that explains the others to the kind that
 * they explain:
 *
 * - `own`: an error of the program, a signal, an exit code.
 * - `stopped`: the same, recorded before the launcher sent a signal for another failure.
 * - `left`: the end of a worker that other ranks still needed: exit code 0, or a failure without which a fault-tolerant
 *   job continued, but which another failure names. Not a failure by itself.
 * - `suspects`: an error that names other ranks, such as a timeout.
 * - `outlived`: another failure without which a fault-tolerant job continued.
 * - `follows`: an error after another failure, such as the loss of a peer.
 */
export const failureKinds = ['own', 'stopped', 'left', 'suspects', 'outlived', 'follows'] as const;

export type FailureKind = (typeof failureKinds)[number];

/** Negative if the first kind explains the second. */
export function compareKinds(a: FailureKind, b: FailureKind): number {
  return failureKinds.indexOf(a) - failureKinds.indexOf(b);
}

/** Whether a failure of this kind needs no other one as its explanation. */
export function isIndependent(kind: FailureKind): boolean {
  return kind === 'own' || kind === 'stopped';
}
