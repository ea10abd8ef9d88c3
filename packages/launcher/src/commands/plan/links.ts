import { readFileSync } from 'node:fs';
import { checkedLinks, equalLinks, payloadShare } from '@ringrun/collectives';
import type { Links } from '@ringrun/core';
import { pathProblem } from '@ringrun/core';
import { CommandError } from '../../command-error.ts';
import type { PlanOptions } from './options.ts';

/**
 * The links of the options.
 *
 * @throws CommandError if the file cannot be read, or contains something else or other nodes.
 */
export function linksOf({ nodes, link, linksFile }: PlanOptions): Links {
  if (linksFile === undefined) {
    const { bitsPerSecond, roundTripSeconds } = link!;
    return equalLinks(nodes!, {
      bytesPerSecond: (bitsPerSecond * payloadShare) / 8,
      delay: roundTripSeconds / 2,
    });
  }
  const problem = pathProblem(linksFile, 'file');
  if (problem !== undefined)
    throw new CommandError(
      2,
      `plan: --links: expected a JSON file of links, got ${linksFile}, which ${problem}.`,
    );
  const links = parsed(linksFile);
  if (nodes === undefined || nodes === links.hosts.length) return links;
  throw new CommandError(
    2,
    `plan: --nodes: expected ${links.hosts.length}, the hosts of ${linksFile}, got ${nodes}. Leave it out, or measure again.`,
  );
}

function parsed(path: string): Links {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new CommandError(2, `plan: --links: expected JSON in ${path}: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  try {
    return checkedLinks(value, path);
  } catch (error) {
    throw new CommandError(
      2,
      `plan: --links: expected hosts (names), delay (seconds) and bandwidth (bytes per second) of each pair, and capacity of each host in ${path}. ${(error as Error).message}`,
      { cause: error },
    );
  }
}
