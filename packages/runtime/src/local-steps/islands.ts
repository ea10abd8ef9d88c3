import { hostIdentity } from '@ringrun/collectives';
import { InvalidArgumentError } from '@ringrun/core';
import type { Links, ProcessGroup } from '@ringrun/core';
import { defaultGroup, newGroup } from '../process-group/index.ts';
import { islandsOfHosts } from './islands-of-hosts.ts';

/**
 * Ranks that average every step among themselves, because a fast link connects them. The islands of a job exchange only every
 * `innerSteps` steps.
 */
export interface Islands {
  /** The ranks of this rank's island. Null if the rank is an island of its own. */
  readonly island: ProcessGroup | null;
  /** The first rank of each island. Null on the other ranks. */
  readonly across: ProcessGroup | null;
  /** The number of ranks of this rank's island, divided by the mean of all islands. */
  readonly weight: number;
}

/**
 * Forms the islands of a {@link DiLoCo} or a {@link LocalSGD}. A collective of the default group: every rank calls it with the same
 * argument.
 *
 * @param islands the ranks of each island, every rank once; or the links between the hosts, of which the fast ones connect an island:
 * those beyond a gap of at least a factor of 4 in the time of a megabyte. Default: the ranks of each host.
 * @throws InvalidArgumentError if a rank is missing or repeated; the errors of `newGroup`
 */
export async function formIslands(islands?: readonly (readonly number[])[] | Links): Promise<Islands> {
  const group = defaultGroup();
  const all = islands instanceof Array ? islands : joined(await ranksByHost(group), islands);
  requirePartition(all, group.size);
  const own = all.find((ranks) => ranks.includes(group.rank))!;
  let island: ProcessGroup | null = null;
  // All ranks form all groups in the same order.
  for (const ranks of all) {
    const formed = ranks.length > 1 ? await newGroup(ranks) : null;
    if (ranks === own) island = formed;
  }
  const firsts = all.map((ranks) => Math.min(...ranks));
  const across = firsts.length > 1 ? await newGroup(firsts) : null;
  return { island, across, weight: (own.length * all.length) / group.size };
}

/** The ranks of the hosts of each island; of each host without links. */
function joined(ranks: readonly (readonly number[])[], links: Links | undefined): (readonly number[])[] {
  if (links === undefined) return [...ranks];
  if (links.hosts.length !== ranks.length) {
    throw new InvalidArgumentError(
      `formIslands: expected links of the ${ranks.length} hosts of this group, got links of ${links.hosts.length}.`,
    );
  }
  return islandsOfHosts(links).map((hosts) => hosts.flatMap((host) => ranks[host]));
}

async function ranksByHost(group: ProcessGroup): Promise<number[][]> {
  const hosts = await group.allGatherObject(await hostIdentity());
  const byHost = new Map<string, number[]>();
  for (const [rank, host] of hosts.entries()) byHost.set(host, [...(byHost.get(host) ?? []), rank]);
  return [...byHost.values()];
}

function requirePartition(islands: readonly (readonly number[])[], size: number): void {
  const ranks = islands.flat().toSorted((a, b) => a - b);
  const isPartition = ranks.length === size && ranks.every((rank, place) => rank === place);
  if (isPartition && islands.every(({ length }) => length > 0)) return;
  throw new InvalidArgumentError(
    `formIslands: expected lists that contain each of the ranks 0 to ${size - 1} once, got ${JSON.stringify(islands)}.`,
  );
}
