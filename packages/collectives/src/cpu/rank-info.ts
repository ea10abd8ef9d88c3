import { hostname } from 'node:os';

import type { NativeListening } from '@ringrun/native';

import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { describeRank } from '../native-group/failure.ts';
import { isProof, notAuthenticated, notInThisGroup, withProof } from '../native-group/rank-info-proof.ts';
import { readValuesOnce } from './rank-info-lists.ts';
import type { RequestedTransport } from './requested-transport.ts';

/** Version of the wire format (docs/wire-format.md). Ranks with different versions refuse to form a group. */
const protocol = 9;

/** Prefix of the keys under which rank 0 of a large group publishes the `RankInfo`s of all ranks. */
const listsName = 'gloo/rank-infos';

/** The information that a rank publishes about itself in the store before it is connected. */
export interface RankInfo {
  protocol: number;
  rank: number;
  size: number;
  /** Host name, for messages. */
  host: string;
  pid: number;
  /** Two ranks have the same value if and only if they can share memory. */
  hostId: string;
  /** Requested transport; null: automatic. */
  requested: RequestedTransport | null;
  /** Requested algorithm; '': automatic for each operation. */
  algorithm: string;
  /** Reason why this rank cannot share memory; empty if it can. */
  sharedMemoryProblem: string;
  socketName: string;
  address: string;
  port: number;
  /** Port at which it forwards connections between two other ranks. */
  relayPort: number;
  token: string;
  /** TCP connections are encrypted. */
  encrypt: boolean;
  /** How the group knows the links between its hosts; '': it does not. See `linksDigest`. */
  links: string;
}

export function rankInfoOf(
  own: Pick<
    RankInfo,
    'rank' | 'size' | 'hostId' | 'requested' | 'algorithm' | 'address' | 'encrypt' | 'links'
  >,
  listening: NativeListening,
): RankInfo {
  return { protocol, host: hostname(), pid: process.pid, ...own, ...listening };
}

/**
 * Publishes this rank's `RankInfo` and returns those of all ranks, by rank.
 *
 * @param key Key of the group, with which every rank authenticates its `RankInfo`.
 * @throws StoreTimeoutError naming the ranks that did not publish theirs within `timeoutMs`.
 * @throws RingrunError `ERR_SECRET_MISMATCH` if a rank has another key, or a `RankInfo` was changed.
 */
export async function exchangeRankInfos(
  store: Store,
  own: RankInfo,
  key: Uint8Array,
  timeoutMs: number,
): Promise<RankInfo[]> {
  await store.set(keyOf(own.rank), withProof('RankInfo', own, key));
  const keys = Array.from({ length: own.size }, (_, rank) => keyOf(rank));
  let values: (string | undefined)[];
  try {
    await store.wait(keys, { timeoutMs });
    values = await readValuesOnce(store, keys, listsName, own.rank, timeoutMs);
  } catch (error) {
    throw error instanceof StoreTimeoutError ? namingRanks(error, own, keys, timeoutMs) : error;
  }
  return values.map((value, rank) => readRankInfo(value, rank, own, key));
}

function keyOf(rank: number): string {
  return `gloo/rank-info/${rank}`;
}

function namingRanks(
  error: StoreTimeoutError,
  own: RankInfo,
  keys: readonly string[],
  timeoutMs: number,
): StoreTimeoutError {
  const missing = keys.flatMap((key, rank) => (error.missingKeys.includes(key) ? [rank] : []));
  const isList = error.missingKeys.some((key) => key.startsWith(`${listsName}/`));
  if (missing.length === 0 && !isList) return error;
  const who = missing.length > 1 ? `ranks ${missing.join(', ')}` : `rank ${missing.at(0) ?? 0}`;
  const what = isList ? 'publish the addresses of all ranks' : 'join the group';
  return new StoreTimeoutError(
    error.missingKeys,
    `${describeRank(own)} waited ${timeoutMs} ms for ${who} of ${own.size} to ${what}: ` +
      'check the logs of the missing ranks, or raise timeoutMs',
  );
}

function readRankInfo(value: string | undefined, rank: number, own: RankInfo, key: Uint8Array): RankInfo {
  // Rank 0 has published a list that is none.
  if (value === undefined) throw notAuthenticated(own, 0);
  const { proof, ...info } = parseRankInfo(value) ?? {};
  if (info.protocol !== protocol) {
    throw new RingrunError(
      'ERR_VERSION_MISMATCH',
      `rank ${rank} uses wire protocol ${Number.isInteger(info.protocol) ? info.protocol : 'unknown'}, rank ${own.rank} uses ${protocol}: ` +
        'install the same version of ringrun on every host',
    );
  }
  if (!isProof(proof, 'RankInfo', info, key)) throw notAuthenticated(own, rank);
  const authentic = info as RankInfo;
  if (authentic.rank !== rank || authentic.size !== own.size) throw notInThisGroup(authentic, rank, own);
  return authentic;
}

function parseRankInfo(value: string): Partial<RankInfo & { proof: string }> | undefined {
  try {
    return JSON.parse(value) as Partial<RankInfo & { proof: string }>;
  } catch {
    return undefined;
  }
}
