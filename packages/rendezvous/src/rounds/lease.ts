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

/** Heartbeat counters of other nodes, and when this node, by its own clock, first read the current value. */
export type Liveness = ReadonlyMap<string, { readonly count: number; readonly since: number }>;

/** Updates `liveness` with counters read at `now`. Nodes that are not in `counts` are removed. */
export function updateLiveness(
  liveness: Liveness,
  counts: ReadonlyMap<string, number>,
  now: number,
): Liveness {
  return new Map(
    [...counts].map(([id, count]) => {
      const before = liveness.get(id);
      return [id, before?.count === count ? before : { count, since: now }];
    }),
  );
}

/** Nodes whose counter has not changed for the length of a lease. */
export function silentNodes(liveness: Liveness, now: number, leaseMs: number): ReadonlySet<string> {
  return new Set([...liveness].filter(([, { since }]) => now - since >= leaseMs).map(([id]) => id));
}
