import { InvalidArgumentError, printable } from '@ringrun/core';
import type { Links } from '@ringrun/core';

/** The links between some of the hosts, in this order. */
export function linksAmong(links: Links, hosts: readonly number[]): Links {
  const rowsOf = (matrix: Links['delay']) => hosts.map((a) => hosts.map((b) => matrix[a][b]));
  return {
    hosts: hosts.map((host) => links.hosts[host]),
    delay: rowsOf(links.delay),
    bandwidth: rowsOf(links.bandwidth),
    capacity: hosts.map((host) => links.capacity[host]),
  };
}

/**
 * Given links for the hosts of a group, which may be fewer: after a recovery without some of them, or in a group of
 * some ranks. The given links have the hosts of the group in its order, or all of their names once.
 *
 * @param hosts Names of the group's hosts, in its order.
 * @throws InvalidArgumentError if the hosts are others.
 */
export function linksForHosts(links: Links, hosts: readonly string[]): Links {
  if (links.hosts.length === hosts.length) return links;
  const isUnique = new Set(links.hosts).size === links.hosts.length && new Set(hosts).size === hosts.length;
  const places = hosts.map((name) => links.hosts.indexOf(name));
  if (isUnique && !places.includes(-1)) return linksAmong(links, places);
  throw new InvalidArgumentError(
    `links: expected those of the ${hosts.length} ${hosts.length === 1 ? 'host' : 'hosts'} of this group (${listed(hosts)}), ` +
      `got ${links.hosts.length} (${listed(links.hosts)}). Measure them again with links: 'measure', or correct the list of hosts.`,
  );
}

const listed = (names: readonly string[]) => printable(names.join(', '), 200);
