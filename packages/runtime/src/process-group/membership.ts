import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { formatRanks, printable } from '@ringrun/core';
import type { RankIdentity, Store } from '@ringrun/core';

/** The record that a process publishes when it joins a job. */
export interface Member extends RankIdentity {
  worldSize: number;
  /** The launcher's id of this run. Empty without a launcher. */
  runId: string;
  /** Distinguishes processes of two containers with the same host name and process id. */
  token: string;
}

/** The rank's claim: its `Member` as JSON. */
export const memberKey = (rank: number) => `member/${rank}`;
const goodbyeKey = (rank: number) => `goodbye/${rank}`;

/** Milliseconds that the rank that serves the store waits for ranks that leave later, or that have died. */
export const goodbyeMs = 5000;

/** This process as a member of a job. */
export function describeSelf(rank: number, worldSize: number, runId: string): Member {
  return { rank, worldSize, runId, host: hostname(), pid: process.pid, token: randomUUID() };
}

/** Records that this rank no longer needs the store. */
export async function sayGoodbye(store: Store, rank: number): Promise<void> {
  await store.set(goodbyeKey(rank), '');
}

/**
 * Resolves after every rank has called `sayGoodbye`. Throws a StoreTimeoutError with the keys of those that have not.
 */
export async function waitForGoodbyes(store: Store, worldSize: number, timeoutMs: number): Promise<void> {
  await store.wait(ranksBelow(worldSize).map(goodbyeKey), { timeoutMs });
}

/** Pending action of ranks that have not written the key. */
const awaited: Readonly<Record<string, string>> = {
  member: 'to join',
  goodbye: 'to leave',
  'gloo/rank-info': 'to publish its address',
};

/** Describes keys of members: `ranks 1-3 and 7 to join`. Undefined for other keys or for several kinds. */
export function describeMissingMembers(keys: readonly string[]): string | undefined {
  if (keys.length === 1 && /(?:^|\/)gloo\/rank-infos\/\d+-\d+$/.test(keys[0]))
    return 'rank 0 to publish the addresses of all ranks';
  const found = keys.map((key) => /(?:^|\/)(member|goodbye|gloo\/rank-info)\/\d+$/.exec(key)?.[1]);
  const [kind] = found;
  const ranks = ranksOfKeys(keys);
  if (kind === undefined || ranks === undefined || new Set(found).size !== 1) return undefined;
  return `${formatRanks(ranks)} ${awaited[kind]}`;
}

/** The ranks in keys such as `member/3`. Undefined if a key does not end in a rank. */
export function ranksOfKeys(keys: readonly string[]): number[] | undefined {
  const ranks = keys.map((key) => Number(/\/(\d+)$/.exec(key)?.[1] ?? NaN));
  return ranks.some(Number.isNaN) ? undefined : ranks;
}

/** 0, 1, … worldSize − 1. */
export function ranksBelow(worldSize: number): number[] {
  return Array.from({ length: worldSize }, (_, rank) => rank);
}

export const describeProcess = ({ host, pid }: Member) => `process ${pid} on ${printable(host)}`;
