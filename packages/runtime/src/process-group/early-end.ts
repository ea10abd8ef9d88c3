import { CollectiveMismatchError, RingrunError } from '@ringrun/core';

/**
 * The error of a rank whose event loop became empty while other ranks called operations of the group; undefined if
 * leaving the group failed for another reason.
 */
export function endedEarly(failure: unknown, rank: number): RingrunError | undefined {
  if (!(failure instanceof CollectiveMismatchError)) return undefined;
  const others = failure.sides.filter(({ ranks }) => !ranks.some(({ pid }) => pid === process.pid));
  const operations = others.map(({ operation }) => operation).join(' and ') || 'an operation';
  const message =
    `Rank ${rank} reached the end of its script while other ranks were in ${operations}. ` +
    'Give every rank the same number of batches or use join, await every promise of the training, and await destroyProcessGroup() on every rank at the end.';
  const early = new RingrunError('ERR_ENDED_EARLY', message);
  // The script has ended, so the stack has only ringrun's frames.
  early.stack = `${early.name}: ${message}`;
  return early;
}
