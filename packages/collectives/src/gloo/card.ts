import { hostname } from 'node:os';

import type { NativeListening } from '@ringrun/native';

import { RingrunError, StoreTimeoutError } from '../errors.ts';
import type { Store } from '../store.ts';
import type { RequestedTransport } from './transport.ts';

/** Changes with the wire format (docs/wire-format.md): ranks of different versions refuse each other. */
const protocol = 3;

/** What a rank tells the others about itself, through the store, before any connection exists. */
export interface Card {
  protocol: number;
  rank: number;
  size: number;
  /** Host name, for messages. */
  host: string;
  pid: number;
  /** Equal exactly on ranks that can share memory. */
  hostId: string;
  /** The transport that this rank was told to use; null: whatever fits. */
  requested: RequestedTransport | null;
  /** The algorithm that this rank was told to use where it can; '': what suits each operation. */
  algorithm: string;
  /** Why this rank cannot share memory; empty when it can. */
  sharedMemoryProblem: string;
  socketName: string;
  address: string;
  port: number;
  token: string;
}

export function cardOf(
  own: Pick<Card, 'rank' | 'size' | 'hostId' | 'requested' | 'algorithm' | 'address'>,
  listening: NativeListening,
): Card {
  return { protocol, host: hostname(), pid: process.pid, ...own, ...listening };
}

/**
 * Publishes this rank's card and returns everybody's, by rank.
 *
 * @throws StoreTimeoutError naming the ranks that did not come within `timeoutMs`.
 */
export async function exchangeCards(store: Store, own: Card, timeoutMs: number): Promise<Card[]> {
  await store.set(keyOf(own.rank), JSON.stringify(own));
  const keys = Array.from({ length: own.size }, (_, rank) => keyOf(rank));
  await store.wait(keys, { timeoutMs }).catch((error: unknown) => {
    throw error instanceof StoreTimeoutError ? namingRanks(error, own, keys, timeoutMs) : error;
  });
  const values = await Promise.all(keys.map((key) => store.get(key, { timeoutMs })));
  return values.map((value, rank) => readCard(value, rank, own));
}

function keyOf(rank: number): string {
  return `gloo/card/${rank}`;
}

function namingRanks(
  error: StoreTimeoutError,
  own: Card,
  keys: readonly string[],
  timeoutMs: number,
): StoreTimeoutError {
  const missing = keys.flatMap((key, rank) => (error.missingKeys.includes(key) ? [rank] : []));
  if (missing.length === 0) return error;
  const who = missing.length === 1 ? `rank ${missing[0]}` : `ranks ${missing.join(', ')}`;
  return new StoreTimeoutError(
    error.missingKeys,
    `rank ${own.rank} (host ${own.host}, pid ${own.pid}) waited ${timeoutMs} ms for ${who} of ${own.size} to join the group: ` +
      'look at the logs of the missing ranks, or give them more time with timeoutMs',
  );
}

function readCard(value: Uint8Array, rank: number, own: Card): Card {
  const card = parseCard(value);
  if (card?.protocol !== protocol) {
    throw new RingrunError(
      'ERR_VERSION_MISMATCH',
      `rank ${rank} speaks protocol ${card?.protocol ?? 'of an unknown program'}, rank ${own.rank} speaks ${protocol}: ` +
        'install one version of ringrun on every host',
    );
  }
  if (card.rank !== rank || card.size !== own.size) {
    throw new RingrunError(
      'ERR_WORLD_MISMATCH',
      `rank ${rank} (host ${card.host}, pid ${card.pid}) calls itself rank ${card.rank} of ${card.size}, ` +
        `but rank ${own.rank} expects rank ${rank} of ${own.size}: are two jobs using one store?`,
    );
  }
  return card;
}

function parseCard(value: Uint8Array): Card | undefined {
  try {
    return JSON.parse(Buffer.from(value).toString()) as Card;
  } catch {
    return undefined;
  }
}
