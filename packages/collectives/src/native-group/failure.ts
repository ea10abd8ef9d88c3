import type { NativeFailure } from '@ringrun/native';

import {
  CollectiveMismatchError,
  CollectiveTimeoutError,
  openFilesProblem,
  PeerDiedError,
  printable,
  RingrunError,
} from '@ringrun/core';
import type { OperationSide, RankIdentity } from '@ringrun/core';

/**
 * Converts a failure of the addon to one of ringrun's documented errors, which name ranks with host and process.
 *
 * @param own This rank.
 * @param identities The ranks' identities, by rank.
 */
export function translateFailure(
  failure: NativeFailure,
  own: RankIdentity,
  identities: readonly RankIdentity[],
): RingrunError {
  const { operation, message: detail } = failure;
  const involved = failure.ranks.map(({ rank: one, seenIn }) => ({ identity: identities[one], seenIn }));
  const here = describeRank(own);
  switch (failure.code) {
    case 'PEER_DIED': {
      const [first, ...others] = involved.map(({ identity }) => identity);
      const tooMany = others.length - maxGoneNamed;
      const also = [
        ...others.slice(0, maxGoneNamed).map((peer) => `; ${describeRank(peer)} is gone too`),
        ...(tooMany > 0 ? [`; so are ${tooMany} more ranks`] : []),
      ];
      return new PeerDiedError(
        [first, ...others],
        operation,
        `${describeRank(first)} is gone: ${detail}${also.join('')}. ${here} was in ${operation}`,
      );
    }
    case 'TIMEOUT': {
      const missing = involved.map(({ identity, seenIn }) =>
        describeRank(
          identity,
          seenIn === undefined ? 'not seen in this group yet' : `last seen in ${seenIn}`,
        ),
      );
      return new CollectiveTimeoutError(
        involved.map(({ identity }) => identity),
        operation,
        `${operation} did not complete within ${failure.timeoutMs} ms (${detail}). Missing: ${missing.join(', ')}. ` +
          `Reported by ${here}. If a rank only needs more time, raise timeoutMs`,
      );
    }
    case 'MISMATCH': {
      const sides = sidesOf(involved);
      return new CollectiveMismatchError(
        sides,
        operation,
        `${detail}. ${describeSides(sides)}. Call the same operations in the same order on every rank, with the same dtypes, ` +
          'lengths and options. No data was changed',
      );
    }
    case 'SYSTEM':
      return new RingrunError(
        'ERR_SYSTEM',
        `${operation} failed on ${here}: ${[detail, openFilesProblem(failure)].filter((part) => part !== undefined).join(': ')}`,
        { cause: failure },
      );
    case 'UNTRUSTED':
      return new RingrunError(
        'ERR_SECRET_MISMATCH',
        `Connecting ${here} to ${describeFirst(involved)} failed: ${detail}.`,
        { cause: failure },
      );
    case 'ALTERED':
      return new RingrunError(
        'ERR_CONNECTION_ALTERED',
        `${operation} failed on ${here}: ${detail}. No changed data was used. Check the network between the hosts for devices that modify traffic.`,
        { cause: failure },
      );
    case 'CLOSED':
      return new RingrunError('ERR_GROUP_CLOSED', `${operation} on ${here}: ${detail}`, { cause: failure });
  }
}

function describeFirst(involved: readonly { identity: RankIdentity }[]): string {
  return involved.length === 0 ? 'another rank' : describeRank(involved[0].identity);
}

/** Maximum number of ranks named for one side; the others are counted. */
const maxNamed = 3;

/** Maximum number of further dead ranks that are named. */
const maxGoneNamed = 8;

/** Each call with the ranks that made it. */
function sidesOf(
  involved: readonly { identity: RankIdentity; seenIn: string | undefined }[],
): OperationSide[] {
  const sides = new Map<string, RankIdentity[]>();
  for (const { identity, seenIn = 'unknown' } of involved) {
    sides.set(seenIn, [...(sides.get(seenIn) ?? []), identity]);
  }
  return Array.from(sides, ([operation, ranks]) => ({ operation, ranks }));
}

function describeSides(sides: readonly OperationSide[]): string {
  const namesOf = (ranks: readonly RankIdentity[]) => {
    const names = ranks.slice(0, maxNamed).map((rank) => describeRank(rank));
    const more = ranks.length - names.length;
    return names.join(', ') + (more > 0 ? ` and ${more} more` : '');
  };
  return sides.map(({ operation, ranks }) => `${namesOf(ranks)}: ${operation}`).join('; ');
}

/**
 * Distinguishes the addon's failures from other errors of a call, such as a RangeError for an array that is too long.
 */
export function isNativeFailure(error: unknown): error is NativeFailure {
  return error instanceof Error && 'operation' in error && 'ranks' in error;
}

/** `rank 2 (host node1, pid 4711)` */
export function describeRank({ rank, host, pid }: RankIdentity, more?: string): string {
  return `rank ${rank} (host ${printable(host)}, pid ${pid}${more === undefined ? '' : `, ${more}`})`;
}

/** The error of an operation after the group's end. */
export function groupDestroyed(): RingrunError {
  return new RingrunError(
    'ERR_GROUP_DESTROYED',
    'this group was destroyed. Create a new group, or call destroy later',
  );
}
