/**
 * How long a node may keep its ranks. A lease starts when the node *sends* a heartbeat that the store then confirms.
 * The node that checks heartbeats sees it later, and reassigns the ranks a whole lease after that. So a node that has
 * ended its workers by `mustBeGoneAt`, on its own clock, ended them before that, even if clocks run 10% apart.
 */
export interface Lease {
  readonly renewedAt: number;
  readonly lengthMs: number;
}

/** Fractions of the length. Two of three heartbeats may be late before the workers are stopped. */
const stopFraction = 0.75;
const goneFraction = 0.9;

/** When the workers receive SIGTERM if the lease is not renewed. */
export function mustStopAt({ renewedAt, lengthMs }: Lease): number {
  return renewedAt + stopFraction * lengthMs;
}

/** When the workers are killed. */
export function mustBeGoneAt({ renewedAt, lengthMs }: Lease): number {
  return renewedAt + goneFraction * lengthMs;
}
