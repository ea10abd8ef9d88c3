import { createHash } from 'node:crypto';

import { InvalidArgumentError } from '@ringrun/core';
import type { Links } from '@ringrun/core';
import { describeRank } from '../native-group/failure.ts';
import type { RankInfo } from '../cpu/rank-info.ts';
import { checkedLinks } from './checked-links.ts';
import { checkLinksOutput, readLinksFile } from './links-file.ts';

/** What a group knows about the links between its hosts: nothing, measured at its start, or given. */
export type RequestedLinks = 'measure' | Links | undefined;

/**
 * The option `links`, else RINGRUN_LINKS, else undefined. Reads the file if it names one.
 *
 * @throws InvalidArgumentError for invalid links, or a file that cannot be read.
 */
export function requestedLinks(
  option: Links | string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): RequestedLinks {
  if (option === undefined) {
    const text = env['RINGRUN_LINKS']?.trim() ?? '';
    return text === '' ? undefined : fromText(text, 'RINGRUN_LINKS');
  }
  return typeof option === 'string'
    ? fromText(option, 'The option links')
    : checkedLinks(option, 'The option links');
}

function fromText(text: string, where: string): RequestedLinks {
  return text === 'measure' ? 'measure' : readLinksFile(text, where);
}

/**
 * The file to which rank 0 writes measured links: RINGRUN_SAVE_LINKS, or undefined.
 *
 * @throws InvalidArgumentError if links are not measured, or the file cannot be written.
 */
export function savedLinksPath(
  requested: RequestedLinks,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const path = env['RINGRUN_SAVE_LINKS']?.trim() ?? '';
  if (path === '') return undefined;
  if (requested !== 'measure') {
    throw new InvalidArgumentError(
      `RINGRUN_SAVE_LINKS is ${path}, but links are not measured. Set RINGRUN_LINKS=measure (ringrun --links measure), or unset it.`,
    );
  }
  checkLinksOutput(path, 'RINGRUN_SAVE_LINKS');
  return path;
}

/** What ranks compare: '', `measure`, or a digest of the given links. */
export function linksDigest(requested: RequestedLinks): string {
  if (requested === undefined || requested === 'measure') return requested ?? '';
  const { hosts, delay, bandwidth, capacity } = requested;
  const text = JSON.stringify([hosts, delay, bandwidth, capacity]);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/**
 * Ranks with other links would order a ring in another way, and wait for each other.
 *
 * @throws InvalidArgumentError if the ranks were given different links.
 */
export function checkSameLinks(infos: readonly Pick<RankInfo, 'rank' | 'host' | 'pid' | 'links'>[]): void {
  const first = infos[0];
  const other = infos.find(({ links }) => links !== first.links);
  if (other === undefined) return;
  throw new InvalidArgumentError(
    `links: expected the same on every rank, got ${described(first.links)} on ${describeRank(first)} and ` +
      `${described(other.links)} on ${describeRank(other)}. Set RINGRUN_LINKS, --links or the option links alike, and copy the file to all hosts.`,
  );
}

function described(links: string): string {
  if (links === '') return 'none';
  return links === 'measure' ? "'measure'" : `given links with digest ${links}`;
}
