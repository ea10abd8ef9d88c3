import { setTimeout as delay } from 'node:timers/promises';
import { quoted, RingrunError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { BoundedWait, missingKeysOf, peek, PrefixStore, WaitReporter } from '@ringrun/rendezvous';
import { SilenceDetector } from './heartbeat.ts';
import { describeProcess, memberKey, ranksBelow } from './membership.ts';
import type { Member } from './membership.ts';

/** The number of rounds in which every rank has joined. */
export const roundKey = 'round';
/** Written by the first member of a round. All others must agree with its world size and run id. */
const jobKey = 'job';
/** Set by a rank that stopped waiting at its timeout, so that other ranks do not report it as missing. */
export const gaveUpKey = (rank: number) => `gave-up/${rank}`;

/** The claim of a rank in a round, which has its own keys. */
export interface Claim {
  round: number;
  keys: Store;
}

/**
 * Claims the rank in the first round that is not complete.
 *
 * @param intervalMs milliseconds between two signs of life
 * @throws RingrunError `ERR_JOB_MISMATCH`, `ERR_RANK_TAKEN`; StoreTimeoutError if another process holds the rank, or other
 * jobs use the store, for `timeoutMs`
 */
export async function claimRank(
  store: Store,
  self: Member,
  intervalMs: number,
  timeoutMs: number,
): Promise<Claim> {
  const wait = new BoundedWait(
    timeoutMs,
    new WaitReporter(`rank ${self.rank}`),
    'Set a different RANK for each process of a job, and a different MASTER_PORT for each job.',
  );
  for (;;) {
    const round = Number(text(await store.compareSet(roundKey, '', '0')));
    const keys = new PrefixStore(`init/${round}`, store);
    await agreeOnJob(keys, self, wait);
    const { member: holder } = await claim(keys, memberKey(self.rank), self);
    if (holder.token === self.token) {
      await keys.deleteKey(gaveUpKey(self.rank));
      return { round, keys };
    }
    wait.goOn(`${describeProcess(holder)} to give back rank ${self.rank}`);
    // Another process has claimed it. It may already be in a group; then this process joins the next round.
    const isCurrent = async () => text(await store.compareSet(roundKey, '', '0')) === String(round);
    if (await isCurrent()) await waitUntilGone(keys, holder, self, intervalMs, { isCurrent, wait });
  }
}

async function agreeOnJob(keys: Store, self: Member, wait: BoundedWait): Promise<void> {
  for (;;) {
    const { member: first, stored } = await claim(keys, jobKey, self);
    if (first.worldSize === self.worldSize && first.runId === self.runId) return;
    const everyone = ranksBelow(first.worldSize).map(memberKey);
    if ((await missingKeysOf(keys, everyone)).length < everyone.length) throw mismatch(first, self);
    wait.goOn(`the settings of ${describeProcess(first)}, which has left, to be replaced`);
    // Every process that joined with the other settings has left.
    await keys.compareSet(jobKey, stored, JSON.stringify(self));
  }
}

/**
 * Resolves after the process that holds the rank has died or left, or the round is complete. Throws `ERR_RANK_TAKEN`
 * when that process sends its next sign of life.
 */
async function waitUntilGone(
  keys: Store,
  holder: Member,
  self: Member,
  intervalMs: number,
  { isCurrent, wait }: { isCurrent: () => Promise<boolean>; wait: BoundedWait },
): Promise<void> {
  const detector = new SilenceDetector(keys, intervalMs);
  for (;;) {
    const state = await detector.observe(self.rank);
    if (state === 'alive') throw rankTaken(holder, self);
    if (state === 'silent') await removeClaim(keys, holder);
    if (state === 'silent' || !(await isCurrent())) return;
    if ((await memberAt(keys, self.rank))?.token !== holder.token) return;
    wait.goOn(`${describeProcess(holder)}, which holds rank ${self.rank}, to end or to send a sign of life`);
    await delay(detector.intervalMs);
  }
}

/**
 * Claims the rank again if other ranks have deleted the claim.
 *
 * @throws RingrunError `ERR_RANK_TAKEN` if another process has claimed it since
 */
export async function restoreClaim(keys: Store, self: Member): Promise<void> {
  const { member: holder } = await claim(keys, memberKey(self.rank), self);
  if (holder.token !== self.token) throw rankTaken(holder, self);
}

/** Deletes the claim if this member still has it. */
export async function removeClaim(store: Store, member: Member): Promise<void> {
  if ((await memberAt(store, member.rank))?.token !== member.token) return;
  await store.deleteKey(memberKey(member.rank));
}

/** The first member to call this is stored under the key and returned to all later callers, with the text there. */
async function claim(store: Store, key: string, self: Member): Promise<{ member: Member; stored: string }> {
  const stored = text(await store.compareSet(key, '', JSON.stringify(self)));
  return { member: JSON.parse(stored) as Member, stored };
}

/** The member that claims the rank, if any. */
export async function memberAt(store: Store, rank: number): Promise<Member | undefined> {
  const there = await peek(store, memberKey(rank));
  return there === undefined ? undefined : (JSON.parse(there) as Member);
}

const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');

function mismatch(first: Member, self: Member): RingrunError {
  const differences = [
    first.worldSize === self.worldSize
      ? ''
      : `WORLD_SIZE is ${first.worldSize} there and ${self.worldSize} here`,
    first.runId === self.runId
      ? ''
      : `RINGRUN_RUN_ID is ${quoted(first.runId)} there and ${quoted(self.runId)} here`,
  ].filter((difference) => difference !== '');
  return new RingrunError(
    'ERR_JOB_MISMATCH',
    `Rank ${self.rank} (${describeProcess(self)}) cannot join the job of rank ${first.rank} (${describeProcess(first)}): ` +
      `${differences.join(', ')}. Set the same values on all ranks of a job, and a different MASTER_PORT for each job.`,
  );
}

function rankTaken(holder: Member, self: Member): RingrunError {
  return new RingrunError(
    'ERR_RANK_TAKEN',
    `Rank ${self.rank} is taken: ${describeProcess(holder)} and ${describeProcess(self)} were both started with RANK=${self.rank}. ` +
      `Set a different RANK from 0 to ${self.worldSize - 1} for each process.`,
  );
}
