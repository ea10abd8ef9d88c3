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

/** Heartbeat counters of other nodes, and for how long this node has read the same value, by its own clock. */
export interface Liveness {
  readonly readAt: number;
  readonly nodes: ReadonlyMap<string, { readonly count: number; readonly forMs: number }>;
}

/** Before the first reading. */
export const noLiveness: Liveness = { readAt: -Infinity, nodes: new Map() };

/**
 * Updates `liveness` with counters read at `now`. Nodes that are not in `counts` are removed.
 *
 * Not more than `maxPauseMs` counts between two readings. After a longer pause, such as SIGSTOP, the other nodes may have
 * been stopped too, or their heartbeats may not have been read yet.
 */
export function updateLiveness(
  { readAt, nodes }: Liveness,
  counts: ReadonlyMap<string, number>,
  now: number,
  maxPauseMs: number,
): Liveness {
  const passedMs = Math.min(now - readAt, maxPauseMs);
  const updated = [...counts].map(([id, count]) => {
    const before = nodes.get(id);
    return [id, { count, forMs: before?.count === count ? before.forMs + passedMs : 0 }] as const;
  });
  return { readAt: now, nodes: new Map(updated) };
}

/** Forgets nodes that have joined: the silence before that, as of a node whose link was cut, does not count. */
export function forgetNodes({ readAt, nodes }: Liveness, joined: ReadonlySet<string>): Liveness {
  return { readAt, nodes: new Map([...nodes].filter(([id]) => !joined.has(id))) };
}

/** Nodes whose counter has not changed for the length of a lease. */
export function silentNodes({ nodes }: Liveness, leaseMs: number): ReadonlySet<string> {
  return new Set([...nodes].filter(([, { forMs }]) => forMs >= leaseMs).map(([id]) => id));
}
