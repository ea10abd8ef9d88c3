import { setTimeout } from 'node:timers/promises';
import type { ProcessGroup } from '@ringrun/core';
import { defaultGroup, isInitialized } from '../process-group/index.ts';
import { CheckpointError, errorOf, failureOf } from './checkpoint-error.ts';
import type { CheckpointProblem, Failure } from './checkpoint-error.ts';

/** The collectives that saving and resuming need. */
export type CheckpointGroup = Pick<
  ProcessGroup,
  'rank' | 'size' | 'allReduce' | 'allGatherObject' | 'gatherObject' | 'broadcastObject' | 'broadcast'
>;

/** The collectives of a process without a group. */
const singleProcess: CheckpointGroup = {
  rank: 0,
  size: 1,
  allReduce: () => Promise.resolve(),
  allGatherObject: (object) => Promise.resolve([object]),
  gatherObject: (object) => Promise.resolve([object]),
  broadcastObject: (object) => Promise.resolve(object),
  broadcast: () => Promise.resolve(),
};

/** Returns `group`, the default group, or this process alone without a group. */
export function checkpointGroup(group: ProcessGroup | undefined): CheckpointGroup {
  return group ?? (isInitialized() ? defaultGroup() : singleProcess);
}

/** The result of an attempt. */
export type Outcome<T> = { value: T } | { error: unknown };

export async function attempt<T>(act: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await act() };
  } catch (error) {
    return { error };
  }
}

/** Maximum milliseconds between two progress exchanges of the ranks. */
const exchangeEveryMs = 250;

/**
 * Resolves on every rank when `work` has settled on all of them. A collective. Storage may be slower than a
 * collective's timeout, so the ranks exchange their progress several times a second. If a rank dies
 * meanwhile, the others reject with a `PeerDiedError` at once.
 */
export async function untilSettled(group: CheckpointGroup, work: Promise<unknown>): Promise<void> {
  const settled = work.then(
    () => true,
    () => true,
  );
  if (group.size === 1) await settled;
  for (let pauseMs = 5; group.size > 1; pauseMs = Math.min(2 * pauseMs, exchangeEveryMs)) {
    const isOver = await within(settled, pauseMs);
    if ((await group.allGatherObject(isOver)).every(Boolean)) return;
  }
}

async function within(settled: Promise<boolean>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const pause = setTimeout(ms, false, { signal: timer.signal }).catch(() => false);
  try {
    return await Promise.race([settled, pause]);
  } finally {
    timer.abort();
  }
}

/**
 * Returns this rank's value if the attempt succeeded on all ranks; otherwise throws the first failing rank's
 * error on all.
 *
 * @param what the operation, for the error
 */
export async function requireSuccess<T>(
  group: CheckpointGroup,
  what: string,
  outcome: Outcome<T>,
  problem: CheckpointProblem,
): Promise<T> {
  const failures = await group.allGatherObject('error' in outcome ? failureOf(outcome.error) : null);
  const rank = failures.findIndex((failure) => failure !== null);
  if (rank < 0) return (outcome as { value: T }).value;
  throw sharedError(what, rank, failures[rank]!, problem);
}

/** The error to throw on every rank, with the same message and cause. */
export function sharedError(
  what: string,
  rank: number,
  failure: Failure,
  problem: CheckpointProblem,
): CheckpointError {
  const message = `${what}: rank ${rank}: ${failure.message}`;
  return new CheckpointError(failure.problem ?? problem, message, { cause: errorOf(failure) });
}

/** Throws on all ranks if their statements differ; the error shows both sides. */
export async function requireAgreement(
  group: CheckpointGroup,
  what: string,
  statement: string,
): Promise<void> {
  const statements = await group.allGatherObject(statement);
  const rank = statements.findIndex((other) => other !== statements[0]);
  if (rank < 0) return;
  throw new CheckpointError(
    'ranks differ',
    `${what}: rank 0 has ${statements[0]}, rank ${rank} has ${statements[rank]}. Save the same objects at the same step on every rank.`,
  );
}
