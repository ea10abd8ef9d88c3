import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { RingrunError, StoreTimeoutError } from '@ringrun/collectives';
import type { RankIdentity, Store } from '@ringrun/collectives';
import { formatDuration } from '../store/waiting-lines.ts';

/** What each process says about itself when it joins a job. */
export interface Member extends RankIdentity {
  worldSize: number;
  /** Name that the launcher gave to this run; empty without a launcher. */
  runId: string;
  /** Tells apart processes of two containers that share host name and process id. */
  token: string;
}

/** The first member to arrive states what all others have to agree with. */
const jobKey = 'job';
const memberKey = (rank: number) => `member/${rank}`;
const goodbyeKey = (rank: number) => `goodbye/${rank}`;

/** This process as a member of a job. */
export function describeSelf(rank: number, worldSize: number, runId: string): Member {
  return { rank, worldSize, runId, host: hostname(), pid: process.pid, token: randomUUID() };
}

/**
 * Claims the rank in the store, then waits until every rank of the job has done so.
 *
 * @param store A store, or a part of one, that this job has for itself.
 * @throws RingrunError `ERR_JOB_MISMATCH` when the store belongs to a job with another world size or run id, `ERR_RANK_TAKEN` when
 * another process has this rank; StoreTimeoutError with the keys of the ranks that did not come.
 */
export async function joinJob(store: Store, self: Member, timeoutMs: number): Promise<void> {
  const first = await claim(store, jobKey, self);
  if (first.worldSize !== self.worldSize || first.runId !== self.runId) throw mismatch(first, self);
  const holder = await claim(store, memberKey(self.rank), self);
  if (holder.token !== self.token) throw rankTaken(holder, self);
  await waitForMembers(store, self, timeoutMs);
}

/** Says that this rank needs the store no longer. */
export async function sayGoodbye(store: Store, rank: number): Promise<void> {
  await store.set(goodbyeKey(rank), '');
}

/** Resolves when every rank of the job has said goodbye. Throws a StoreTimeoutError with the keys of those that have not. */
export async function waitForGoodbyes(store: Store, worldSize: number, timeoutMs: number): Promise<void> {
  await store.wait(ranksBelow(worldSize).map(goodbyeKey), { timeoutMs });
}

/** Keys of members in words, `ranks 1-3 and 7 to join`; undefined when any of the keys is another. */
export function describeMissingMembers(keys: readonly string[]): string | undefined {
  const found = keys.map((key) => /(?:^|\/)(member|goodbye)\/(\d+)$/.exec(key));
  const ranks = found.map((match) => Number(match?.[2]));
  const kinds = new Set(found.map((match) => match?.[1]));
  const [kind] = kinds;
  if (kinds.size !== 1 || kind === undefined) return undefined;
  return `${formatRanks(ranks)} to ${kind === 'member' ? 'join' : 'leave'}`;
}

/** `rank 3`, or `ranks 0-2 and 7`. */
export function formatRanks(ranks: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const rank of [...ranks].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run && rank === run[1] + 1) run[1] = rank;
    else runs.push([rank, rank]);
  }
  const names = runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`));
  const list = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names.join('');
  return `${ranks.length === 1 ? 'rank' : 'ranks'} ${list}`;
}

async function waitForMembers(store: Store, self: Member, timeoutMs: number): Promise<void> {
  try {
    await store.wait(ranksBelow(self.worldSize).map(memberKey), { timeoutMs });
  } catch (error) {
    if (!(error instanceof StoreTimeoutError)) throw error;
    const missing = describeMissingMembers(error.missingKeys) ?? error.missingKeys.join(', ');
    throw new StoreTimeoutError(
      error.missingKeys,
      `Rank ${self.rank} of ${self.worldSize} waited ${formatDuration(timeoutMs)} for ${missing}. Start one process for each rank with the ` +
        `same MASTER_ADDR and MASTER_PORT; one that cannot reach the store says so on its stderr. ` +
        `initProcessGroup({ timeoutMs }) waits longer.`,
    );
  }
}

/** Whoever comes first is written down under the key, and found there by all who come later. */
async function claim(store: Store, key: string, self: Member): Promise<Member> {
  const there = await store.compareSet(key, '', JSON.stringify(self));
  return JSON.parse(Buffer.from(there).toString('utf8')) as Member;
}

function ranksBelow(worldSize: number): number[] {
  return Array.from({ length: worldSize }, (_, rank) => rank);
}

const whereabouts = ({ host, pid }: Member) => `process ${pid} on ${host}`;

function mismatch(first: Member, self: Member): RingrunError {
  const differences = [
    first.worldSize === self.worldSize
      ? ''
      : `WORLD_SIZE is ${first.worldSize} there and ${self.worldSize} here`,
    first.runId === self.runId ? '' : `RINGRUN_RUN_ID is "${first.runId}" there and "${self.runId}" here`,
  ].filter((difference) => difference !== '');
  return new RingrunError(
    'ERR_JOB_MISMATCH',
    `Rank ${self.rank} (${whereabouts(self)}) cannot join the job that rank ${first.rank} (${whereabouts(first)}) has begun: ` +
      `${differences.join(', ')}. Give all ranks of one job the same values; give another job a MASTER_PORT of its own.`,
  );
}

function rankTaken(holder: Member, self: Member): RingrunError {
  return new RingrunError(
    'ERR_RANK_TAKEN',
    `Rank ${self.rank} is taken: ${whereabouts(holder)} has it, and ${whereabouts(self)} was started with RANK=${self.rank} too. ` +
      `Give each process a RANK of its own from 0 to ${self.worldSize - 1}. If the first one is gone, start the whole job again.`,
  );
}
