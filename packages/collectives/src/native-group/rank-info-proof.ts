import { createHmac, timingSafeEqual } from 'node:crypto';

import { RingrunError } from '@ringrun/core';
import type { RankIdentity } from '@ringrun/core';
import { describeRank } from './failure.ts';

/** Kinds of information that ranks authenticate. A proof of one kind is not valid for another. */
export type RankInfoKind = 'RankInfo' | 'NcclRankInfo';

/** The JSON text of `info` with a proof: HMAC-SHA256 of the text without it, in hexadecimal. */
export function withProof(kind: RankInfoKind, info: object, key: Uint8Array): string {
  return JSON.stringify({ ...info, proof: proofOf(kind, info, key) });
}

/** True if `proof` was made with `key` for an `info` whose JSON text is the same. */
export function isProof(proof: unknown, kind: RankInfoKind, info: object, key: Uint8Array): boolean {
  const [given, own] = [Buffer.from(String(proof)), Buffer.from(proofOf(kind, info, key))];
  return given.length === own.length && timingSafeEqual(given, own);
}

function proofOf(kind: RankInfoKind, info: object, key: Uint8Array): string {
  return createHmac('sha256', key)
    .update(`ringrun ${kind} ${JSON.stringify(info)}`)
    .digest('hex');
}

/** The error for an info of `rank` without a valid proof. */
export function notAuthenticated(own: RankIdentity, rank: number): RingrunError {
  return new RingrunError(
    'ERR_SECRET_MISMATCH',
    `Connecting ${describeRank(own)} to rank ${rank} failed: expected an address that rank ${rank} ` +
      'authenticated with the secret of this job, got one with another secret or none. ' +
      'Set RINGRUN_SECRET, or --secret-file, to the same secret on every node.',
  );
}

/** The error for an authentic info that belongs to another rank, or to a group of another size. */
export function notInThisGroup(
  info: RankIdentity & { size: number },
  rank: number,
  own: { rank: number; size: number },
): RingrunError {
  return new RingrunError(
    'ERR_WORLD_MISMATCH',
    `${describeRank({ ...info, rank })} registered as rank ${info.rank} of ${info.size}, ` +
      `but rank ${own.rank} expects rank ${rank} of ${own.size}. Check that no other job uses this store`,
  );
}
