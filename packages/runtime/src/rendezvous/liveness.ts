/** Heartbeat counters of other nodes, and when this node, by its own clock, first read the current value. */
export type Liveness = ReadonlyMap<string, { readonly count: number; readonly since: number }>;

/** Updates `liveness` with counters read at `now`. Nodes that are not in `counts` are removed. */
export function heard(liveness: Liveness, counts: ReadonlyMap<string, number>, now: number): Liveness {
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
