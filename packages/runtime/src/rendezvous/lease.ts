/**
 * How long a node may count on its place: from the moment at which it *began* its last renewal that the store has confirmed. Whoever listens
 * saw that renewal later, and gives the place away no sooner than a whole lease after that. So a node that has ended its workers by
 * `mustBeGoneAt`, on its own clock, has ended them before anybody else gets their ranks; clocks may run 10% apart.
 */
export interface Lease {
  readonly renewedAt: number;
  readonly lengthMs: number;
}

/** Of its length: two of three renewals may be late before the workers are told to end. */
const stopFraction = 0.75;
const goneFraction = 0.9;

/** When workers are told to end, unless the lease is renewed before. */
export function mustStopAt({ renewedAt, lengthMs }: Lease): number {
  return renewedAt + stopFraction * lengthMs;
}

/** When they are killed. */
export function mustBeGoneAt({ renewedAt, lengthMs }: Lease): number {
  return renewedAt + goneFraction * lengthMs;
}
