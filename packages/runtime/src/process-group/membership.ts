import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { RingrunError, StoreTimeoutError } from '@ringrun/collectives';
import type { RankIdentity, Store } from '@ringrun/collectives';
import { formatDuration } from '../store/wait-reporter.ts';

/** What a process publishes about itself when it joins a job. */
export interface Member extends RankIdentity {
  worldSize: number;
  /** The launcher's id of this run. Empty without a launcher. */
  runId: string;
  /** Distinguishes processes of two containers with the same host name and process id. */
  token: string;
}

/** Written by the first member. All others must agree with its world size and run id. */
const jobKey = 'job';
const memberKey = (rank: number) => `member/${rank}`;
const goodbyeKey = (rank: number) => `goodbye/${rank}`;

/** This process as a member of a job. */
export function describeSelf(rank: number, worldSize: number, runId: string): Member {
  return { rank, worldSize, runId, host: hostname(), pid: process.pid, token: randomUUID() };
}

/**
 * Claims the rank in the store, then waits until every rank of the job has joined.
 *
 * @param store Used by this job alone.
 * @throws RingrunError `ERR_JOB_MISMATCH` if the store belongs to a job with another world size or run id,
 * `ERR_RANK_TAKEN` if another process has this rank; StoreTimeoutError with the keys of the ranks that did not join.
 */
export async function joinJob(store: Store, self: Member, timeoutMs: number): Promise<void> {
  const first = await claim(store, jobKey, self);
  if (first.worldSize !== self.worldSize || first.runId !== self.runId) throw mismatch(first, self);
  const holder = await claim(store, memberKey(self.rank), self);
  if (holder.token !== self.token) throw rankTaken(holder, self);
  await waitForMembers(store, self, timeoutMs);
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

/** Describes keys of members: `ranks 1-3 and 7 to join`. Undefined if there are other keys or both kinds. */
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
      `Rank ${self.rank} of ${self.worldSize} waited ${formatDuration(timeoutMs)} for ${missing}. ` +
        `Start one process for each rank with the same MASTER_ADDR and MASTER_PORT, and check the stderr of the missing ones; ` +
        `initProcessGroup({ timeoutMs }) sets a longer timeout.`,
    );
  }
}

/** The first member to call this is stored under the key and returned to all later callers. */
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
    `Rank ${self.rank} (${whereabouts(self)}) cannot join the job of rank ${first.rank} (${whereabouts(first)}): ` +
      `${differences.join(', ')}. Set the same values on all ranks of a job, and a different MASTER_PORT for each job.`,
  );
}

function rankTaken(holder: Member, self: Member): RingrunError {
  return new RingrunError(
    'ERR_RANK_TAKEN',
    `Rank ${self.rank} is taken: ${whereabouts(holder)} and ${whereabouts(self)} were both started with RANK=${self.rank}. ` +
      `Set a different RANK from 0 to ${self.worldSize - 1} for each process. If the first process has ended, restart the whole job.`,
  );
}
