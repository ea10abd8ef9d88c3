import { StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { WaitReporter } from './wait-reporter.ts';

/** Reads of a store that do not wait for keys to be set. */

/** Number of unanswered requests, each of 1 s, after which the store is given up. */
const maxAttempts = 20;
const attemptMs = 1000;

/**
 * The value of the key as text; undefined if it has none.
 *
 * @throws StoreTimeoutError without keys if the store does not answer for 20 s.
 */
export async function peek(store: Store, key: string): Promise<string | undefined> {
  const value = await answered(() => store.get(key, { timeoutMs: 0 }));
  return value instanceof StoreTimeoutError ? undefined : Buffer.from(value).toString('utf8');
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
