import { InvalidArgumentError } from '@ringrun/core';
import { describeRank } from '../native-group/failure.ts';
import type { RankInfo } from './rank-info.ts';

const keyBytes = 32;

/** How the ranks of a group protect their connections. */
export interface Security {
  key: Uint8Array;
  encrypt: boolean;
}

/** @throws InvalidArgumentError for a key of another length, or encryption without a key. */
export function checkedSecurity({ key, encrypt = false }: Partial<Security>): Security {
  if (key !== undefined && key.length !== keyBytes) {
    throw new InvalidArgumentError(
      `key: expected ${keyBytes} bytes, got ${key.length}. Derive it from a secret, for example with hkdfSync of node:crypto.`,
    );
  }
  if (encrypt && (key === undefined || key.every((byte) => byte === 0))) {
    throw new InvalidArgumentError(
      `encrypt: expected a secret key, got ${key === undefined ? 'none' : 'zeroes'}. Pass the same ${keyBytes} random bytes as the option 'key' on every rank.`,
    );
  }
  return { key: key ?? new Uint8Array(keyBytes), encrypt };
}

/**
 * A rank that encrypts would wait for one that does not.
 *
 * @throws InvalidArgumentError if only some ranks encrypt.
 */
export function checkSameEncryption(
  infos: readonly Pick<RankInfo, 'rank' | 'host' | 'pid' | 'encrypt'>[],
): void {
  const first = infos[0];
  const other = infos.find(({ encrypt }) => encrypt !== first.encrypt);
  if (other === undefined) return;
  const [on, off] = first.encrypt ? [first, other] : [other, first];
  throw new InvalidArgumentError(
    `${describeRank(on)} encrypts its connections, ${describeRank(off)} does not. Set RINGRUN_ENCRYPT=1, or --encrypt, on every node`,
  );
}
