import {
  formatDuration,
  formatRanks,
  InvalidArgumentError,
  isSameList,
  StoreTimeoutError,
} from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { describeMissingMembers, ranksOfKeys } from './membership.ts';

/** A call of newGroup on one rank. */
export interface NewGroupCall {
  /** Rank in the default group, and its size. */
  rank: number;
  worldSize: number;
  /** Number of this call on this rank, from 1. */
  number: number;
  /** Members of the new group, ascending. */
  ranks: readonly number[];
}

type Statement = Pick<NewGroupCall, 'rank' | 'ranks'>;

/**
 * The first caller writes its ranks. A rank that disagrees writes the dispute before its member key, so every rank
 * finds the dispute once all member keys exist.
 */
const ranksKey = 'ranks';
const disputeKey = 'dispute';
const memberKey = (rank: number) => `member/${rank}`;

/**
 * Resolves after all ranks of the default group have called newGroup with the same ranks.
 *
 * @param store Used by this call alone, on every rank.
 * @throws InvalidArgumentError on every rank, with both lists, if ranks disagree; StoreTimeoutError with the keys of
 * the ranks that did not call it.
 */
export async function agreeOnRanks(store: Store, call: NewGroupCall, timeoutMs: number): Promise<void> {
  const own: Statement = { rank: call.rank, ranks: call.ranks };
  const first = parse(await store.compareSet(ranksKey, '', JSON.stringify(own)));
  if (!isSameList(first.ranks, own.ranks)) await store.set(disputeKey, JSON.stringify(own));
  await store.set(memberKey(call.rank), '');
  await waitForAll(store, call, timeoutMs);
  if (await store.check([disputeKey])) {
    throw disagreement(call, first, parse(await store.get(disputeKey, { timeoutMs })));
  }
}

async function waitForAll(
  store: Store,
  { rank, worldSize, number }: NewGroupCall,
  timeoutMs: number,
): Promise<void> {
  const keys = Array.from({ length: worldSize }, (_, one) => memberKey(one));
  try {
    await store.wait(keys, { timeoutMs });
  } catch (error) {
    if (!(error instanceof StoreTimeoutError) || error.missingKeys.length === 0) throw error;
    const missing = describeMissingMembers(error.missingKeys) ?? error.missingKeys.join(', ');
    throw new StoreTimeoutError(
      error.missingKeys,
      `Rank ${rank} of ${worldSize} waited ${formatDuration(timeoutMs)} in call ${number} of newGroup for ${missing}. Call newGroup on every rank ` +
        'of the default group, including ranks outside the new group; newGroup(ranks, { timeoutMs }) sets a longer timeout.',
      ranksOfKeys(error.missingKeys),
    );
  }
}

function parse(statement: Uint8Array): Statement {
  return JSON.parse(Buffer.from(statement).toString('utf8')) as Statement;
}

function disagreement({ number }: NewGroupCall, ...sides: Statement[]): InvalidArgumentError {
  const calls = sides.map(({ rank, ranks }) => `${formatRanks(ranks)} on rank ${rank}`).join(' and ');
  return new InvalidArgumentError(
    `Call ${number} of newGroup failed: expected the same ranks on every rank of the default group, got ${calls}. Call newGroup in the same order everywhere.`,
  );
}
