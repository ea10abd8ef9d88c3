import type { Links } from '@ringrun/core';

/** Slow links take at least this many times as long as fast ones. */
const leastGap = 4;

const megabyte = 1e6;

/**
 * Groups hosts that fast links connect, directly or through others of the group. A pure function: links are fast or slow by the widest gap
 * between the times that they take for a megabyte. Without a gap, each host is a group of its own.
 */
export function islandsOfHosts(links: Links): number[][] {
  const { hosts } = links;
  const pairs = hosts.flatMap((_, a) =>
    hosts.slice(0, a).map((_, b) => ({ a, b, seconds: Math.max(timeOf(links, a, b), timeOf(links, b, a)) })),
  );
  const limit = slowestFast(pairs.map(({ seconds }) => seconds));
  const islandOf = hosts.map((_, host) => host);
  for (const { a, b, seconds } of pairs) {
    if (seconds > limit) continue;
    const [kept, dissolved] = [islandOf[a], islandOf[b]].toSorted((one, other) => one - other);
    for (const [host, island] of islandOf.entries()) if (island === dissolved) islandOf[host] = kept;
  }
  return [...new Set(islandOf)].map((island) =>
    hosts.map((_, host) => host).filter((host) => islandOf[host] === island),
  );
}

function timeOf({ delay, bandwidth }: Links, from: number, to: number): number {
  return delay[from][to] + megabyte / bandwidth[from][to];
}

/** The time of the slowest fast link; 0 if all links are alike. */
function slowestFast(seconds: readonly number[]): number {
  const sorted = seconds.toSorted((a, b) => a - b);
  let [limit, widest] = [0, leastGap];
  for (const [place, time] of sorted.slice(0, -1).entries()) {
    const gap = sorted[place + 1] / time;
    if (gap >= widest) [limit, widest] = [time, gap];
  }
  return limit;
}
