import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Links } from 'ringrun';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/**
 * The path of a file of links between host0 to host3, whose links to host0 are slow, so that rank 3 is the relay between ranks
 * 1 and 2.
 */
export function linksOfFourHosts(): string {
  const rows = (value: (a: number, b: number) => number) =>
    [0, 1, 2, 3].map((a) => [0, 1, 2, 3].map((b) => (a === b ? 0 : value(a, b))));
  const links: Links = {
    hosts: ['host0', 'host1', 'host2', 'host3'],
    delay: rows(() => 0.001),
    bandwidth: rows((a, b) => (a * b === 0 ? 1e7 : 1e8)),
    capacity: [1e8, 1e8, 1e8, 1e8],
  };
  const path = join(temporaryFolder(), 'links.json');
  writeFileSync(path, JSON.stringify(links));
  return path;
}
