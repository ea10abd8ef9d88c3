import type { Links } from '@ringrun/core';

/** Up to this many hosts, all orders are compared: 5,040 of them. */
const mostCompared = 8;

/** Another order than that of the ranks must save this share of the time. */
const leastGain = 0.05;

/** What a ring sends in each step at the cost that orders are compared by: a segment of a large array. */
const segmentBytes = 256 * 1024;

/**
 * The order in which a ring visits the hosts in the least time: places of `links.hosts`, beginning with 0. Up to 8 hosts
 * it is the best order; for more, one that no exchange of two links and no move of a host improves. The order of `links`
 * if no other saves 5%.
 *
 * A ring's step takes the time of its slowest link for the bytes of a segment. A message waits only for the one before
 * it, so delays count by their mean.
 */
export function ringOrder(links: Links): readonly number[] {
  const hosts = links.hosts.length;
  const identity = links.hosts.map((_, host) => host);
  if (hosts < 3) return identity;
  const costs = edgeCosts(links);
  const best =
    hosts <= mostCompared ? bestOf(costs, identity) : improved(costs, fromNearest(costs, identity));
  return ringCost(costs, best) < (1 - leastGain) * ringCost(costs, identity) ? best : identity;
}

/** Of each pair of hosts, in seconds. */
interface EdgeCosts {
  delay: readonly (readonly number[])[];
  segment: readonly (readonly number[])[];
}

/** Both directions of a link count: the slower one, so that a ring costs the same in both. */
function edgeCosts({ delay, bandwidth, capacity }: Links): EdgeCosts {
  const symmetric = (cost: (a: number, b: number) => number) =>
    delay.map((row, a) => row.map((_, b) => (a === b ? 0 : Math.max(cost(a, b), cost(b, a)))));
  return {
    delay: symmetric((a, b) => delay[a][b]),
    segment: symmetric((a, b) => segmentBytes / Math.min(bandwidth[a][b], capacity[a])),
  };
}

/** Seconds of a step of one segment. */
function ringCost({ delay, segment }: EdgeCosts, order: readonly number[]): number {
  let slowest = 0;
  let delays = 0;
  for (let place = 0; place < order.length; place += 1) {
    const from = order[place];
    const to = order[(place + 1) % order.length];
    slowest = Math.max(slowest, segment[from][to]);
    delays += delay[from][to];
  }
  return slowest + delays / order.length;
}

/** Host 0 stays first: a ring has no beginning. */
function bestOf(costs: EdgeCosts, identity: readonly number[]): readonly number[] {
  let best = identity;
  let least = ringCost(costs, identity);
  const visit = (order: readonly number[], left: readonly number[]) => {
    if (left.length === 0) {
      const cost = ringCost(costs, order);
      if (cost < least) [best, least] = [order, cost];
      return;
    }
    for (const host of left)
      visit(
        [...order, host],
        left.filter((other) => other !== host),
      );
  };
  visit([0], identity.slice(1));
  return best;
}

function fromNearest({ delay, segment }: EdgeCosts, identity: readonly number[]): number[] {
  const left = new Set(identity.slice(1));
  const order = [0];
  while (left.size > 0) {
    const last = order[order.length - 1];
    let nearest = -1;
    for (const host of left) {
      const cost = (other: number) => delay[last][other] + segment[last][other];
      if (nearest < 0 || cost(host) < cost(nearest)) nearest = host;
    }
    left.delete(nearest);
    order.push(nearest);
  }
  return order;
}

/** 2-opt, and moves of one host, until neither helps. */
function improved(costs: EdgeCosts, start: readonly number[]): readonly number[] {
  let order = start;
  let cost = ringCost(costs, order);
  const accept = (candidate: readonly number[]): boolean => {
    const candidateCost = ringCost(costs, candidate);
    // More than a rounding error, so that it ends.
    if (candidateCost >= cost * (1 - 1e-9)) return false;
    order = candidate;
    cost = candidateCost;
    return true;
  };
  const improves = (): boolean => {
    for (let i = 1; i < order.length; i += 1)
      for (let j = 1; j < order.length; j += 1) {
        if (i < j && accept(withReversed(order, i, j))) return true;
        if (i !== j && accept(withMoved(order, i, j))) return true;
      }
    return false;
  };
  // Each round finds one better order. The limit bounds the time for hundreds of hosts.
  for (let round = 0; round < 20 * order.length && improves(); round += 1);
  return order;
}

const withReversed = (order: readonly number[], first: number, last: number) => [
  ...order.slice(0, first),
  ...order.slice(first, last + 1).reverse(),
  ...order.slice(last + 1),
];

function withMoved(order: readonly number[], from: number, to: number): readonly number[] {
  const rest = order.filter((_, place) => place !== from);
  return [...rest.slice(0, to), order[from], ...rest.slice(to)];
}
