import {
  CollectiveMismatchError,
  CollectiveTimeoutError,
  PeerDiedError,
  RingrunError,
  StoreTimeoutError,
} from '@ringrun/core';
import { expect, test } from 'vitest';
import { blameOf } from '../../src/worker/blame.ts';

const self = { host: 'a', pid: 10 };
const [own, one, two] = [10, 11, 12].map((pid, rank) => ({ rank, host: 'a', pid }));
const died = new PeerDiedError([one], 'allReduce #2', 'rank 1 is gone');
const side = (operation: string, ...ranks: (typeof own)[]) => ({ operation, ranks });

function mismatch(...sides: ReturnType<typeof side>[]): CollectiveMismatchError {
  return new CollectiveMismatchError(sides, sides[0].operation, 'the ranks called different operations');
}

const processOne = { host: 'a', pid: 11 };

test.each<[string, unknown, unknown]>([
  ['a thrown string', 'no data', undefined],
  ['an error of the program', new TypeError('no data'), undefined],
  ['the loss of a peer', died, { isCertain: true, ranks: [processOne] }],
  [
    'an error with the loss of a peer as its cause',
    new Error('failed', { cause: died }),
    { isCertain: true, ranks: [processOne] },
  ],
  [
    'errors of which all are losses',
    new AggregateError([died, new Error('x', { cause: died })]),
    { isCertain: true, ranks: [processOne, processOne] },
  ],
  ['errors of which one is not a loss', new AggregateError([died, new TypeError('no data')]), undefined],
  ['the loss of the store', new RingrunError('ERR_STORE_LOST', 'lost'), { isCertain: true, ranks: [] }],
  ['a failed recovery', new RingrunError('ERR_RECOVERY_FAILED', 'failed'), { isCertain: true, ranks: [] }],
  [
    'a timeout',
    new CollectiveTimeoutError([one], 'allReduce #2', 'late'),
    { isCertain: false, ranks: [processOne] },
  ],
  [
    'a timeout for which this rank is missing too',
    new CollectiveTimeoutError([own, one], 'allReduce #2', 'late'),
    undefined,
  ],
  [
    'ranks that did not join',
    new StoreTimeoutError(['member/2'], 'late', [2]),
    { isCertain: false, ranks: [{ rank: 2 }] },
  ],
  ['keys that were not set', new StoreTimeoutError(['epoch'], 'late'), undefined],
  [
    'an operation that one of three ranks called',
    mismatch(side('allReduce #2', own, two), side('broadcast #2', one)),
    { isCertain: false, ranks: [processOne] },
  ],
  [
    'an operation that only this rank called',
    mismatch(side('broadcast #2', own), side('allReduce #2', one, two)),
    undefined,
  ],
  [
    'operations of equally many ranks',
    mismatch(side('broadcast #2', own), side('allReduce #2', one)),
    undefined,
  ],
  [
    'a rank that left',
    mismatch(side('allReduce #2', own), side('destroy #2', one)),
    { isCertain: false, ranks: [processOne] },
  ],
])('%s blames the right ranks', (_, error, expected) => {
  expect(blameOf(error, self)).toEqual(expected);
});

test('a circle of causes ends', () => {
  const error = new Error('first');
  error.cause = new Error('second', { cause: error });
  expect(blameOf(error, self)).toBeUndefined();
});
