import { InvalidArgumentError, StoreTimeoutError } from '@ringrun/collectives';
import type { Store } from '@ringrun/collectives';
import { describeMissingMembers, formatRanks } from './membership.ts';
import { formatDuration } from '../store/waiting-lines.ts';

/** A rank's call of newGroup. */
export interface NewGroupCall {
  /** This rank, in the default group, and that group's size. */
  rank: number;
  worldSize: number;
  /** How many calls came before this one, and it: from 1. */
  number: number;
  /** Of the new group, ascending. */
  ranks: readonly number[];
}

type Statement = Pick<NewGroupCall, 'rank' | 'ranks'>;

/** The first to come states the ranks; whoever disagrees leaves a dispute before he says that he is there, so all find it once all are there. */
const ranksKey = 'ranks';
const disputeKey = 'dispute';
const memberKey = (rank: number) => `member/${rank}`;

/**
 * Returns when all ranks of the default group have called newGroup with the same ranks.
 *
 * @param store A part that this call has for itself on every rank.
 * @throws InvalidArgumentError on every rank, with both sides, when ranks disagree; StoreTimeoutError with the keys of the ranks that did not call it.
 */
export async function agreeOnRanks(store: Store, call: NewGroupCall, timeoutMs: number): Promise<void> {
  const own: Statement = { rank: call.rank, ranks: call.ranks };
  const first = parse(await store.compareSet(ranksKey, '', JSON.stringify(own)));
  if (String(first.ranks) !== String(own.ranks)) await store.set(disputeKey, JSON.stringify(own));
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
    if (!(error instanceof StoreTimeoutError)) throw error;
    const missing = describeMissingMembers(error.missingKeys) ?? error.missingKeys.join(', ');
    throw new StoreTimeoutError(
      error.missingKeys,
      `Rank ${rank} of ${worldSize} waited ${formatDuration(timeoutMs)} in call ${number} of newGroup for ${missing}. Every rank of the default group calls ` +
        'newGroup, those that are not in the new group too. newGroup(ranks, { timeoutMs }) waits longer.',
    );
  }
}

function parse(statement: Uint8Array): Statement {
  return JSON.parse(Buffer.from(statement).toString('utf8')) as Statement;
}

function disagreement({ number }: NewGroupCall, ...sides: Statement[]): InvalidArgumentError {
  const said = sides.map(({ rank, ranks }) => `with ${formatRanks(ranks)} by rank ${rank}`).join(' and ');
  return new InvalidArgumentError(
    `Call ${number} of newGroup was made ${said}: expected the same ranks, in the same order of calls, from every rank of the default group.`,
  );
}
