/** The signs of life of other nodes, as one node hears them: counters that go up, timed on the listener's own clock. */
export type Liveness = ReadonlyMap<string, { readonly count: number; readonly since: number }>;

/** What is known after the counters of `counts` were read at `now`. Whoever is not among them is forgotten. */
export function heard(liveness: Liveness, counts: ReadonlyMap<string, number>, now: number): Liveness {
  return new Map(
    [...counts].map(([id, count]) => {
      const before = liveness.get(id);
      return [id, before?.count === count ? before : { count, since: now }];
    }),
  );
}

/** Nodes whose counter has stood still for the length of a lease. */
export function silentNodes(liveness: Liveness, now: number, leaseMs: number): ReadonlySet<string> {
  return new Set([...liveness].filter(([, { since }]) => now - since >= leaseMs).map(([id]) => id));
}
