import { StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { WaitReporter } from './wait-reporter.ts';

/** Reads of a store that do not wait for keys to be set. */

/** Number of unanswered requests, each of 1 s, after which the store is given up. */
const maxAttempts = 20;
const attemptMs = 1000;

/**
 * The value of the key as text; undefined if it has none within `timeoutMs`.
 *
 * @throws StoreTimeoutError without keys if the store does not answer for 20 s.
 */
export async function peek(store: Store, key: string, timeoutMs = 0): Promise<string | undefined> {
  const value = await answered(() => store.get(key, { timeoutMs }));
  return value instanceof StoreTimeoutError ? undefined : Buffer.from(value).toString('utf8');
}

/** A store that reads many keys in one call, without a wait. Users' stores need not implement it. */
export interface ManyReader {
  /** The values of the keys, in their order. Undefined for a key that does not exist. */
  multiPeek(keys: readonly string[]): Promise<(Uint8Array | undefined)[]>;
}

/** The values of the keys, in one call if the store can. Undefined for a key that does not exist. */
export async function multiPeek(
  store: Store & Partial<ManyReader>,
  keys: readonly string[],
): Promise<(Uint8Array | undefined)[]> {
  if (keys.length === 0) return [];
  if (store.multiPeek !== undefined) return await store.multiPeek(keys);
  return await Promise.all(
    keys.map((key) =>
      store.get(key, { timeoutMs: 0 }).catch((error: unknown) => {
        if (error instanceof StoreTimeoutError && error.missingKeys.length > 0) return undefined;
        throw error;
      }),
    ),
  );
}

/**
 * The values of the keys as text, in their order; undefined for a key that has none.
 *
 * @throws StoreTimeoutError without keys if the store does not answer for 20 s.
 */
export async function peekAll(store: Store, keys: readonly string[]): Promise<(string | undefined)[]> {
  const values = await answered(() => multiPeek(store, keys));
  if (values instanceof StoreTimeoutError) throw values;
  return values.map((value) => value && Buffer.from(value).toString('utf8'));
}

/**
 * The missing keys.
 *
 * @throws StoreTimeoutError without keys if the store does not answer for 20 s.
 */
export async function missingKeysOf(store: Store, keys: readonly string[]): Promise<readonly string[]> {
  const missing = await answered(() => store.wait(keys, { timeoutMs: 0 }));
  return missing instanceof StoreTimeoutError ? missing.missingKeys : [];
}

/** The store's answer: the result or the missing keys. Without an answer, the state of the keys is unknown. */
async function answered<T>(ask: () => Promise<T>): Promise<T | StoreTimeoutError> {
  const startedAt = performance.now();
  const lines = new WaitReporter(undefined);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreTimeoutError)) throw error;
      if (error.missingKeys.length > 0) return error;
      if (attempt === maxAttempts) throw error;
      lines.report('the store to answer', startedAt, maxAttempts * attemptMs);
    }
  }
}
