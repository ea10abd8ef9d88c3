import { StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';

/** Reads of a store that do not wait for keys to be set. */

/** A store that leaves so many requests unanswered, each for 1 s, is given up. */
const maxAttempts = 20;

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
 * The keys that have no value.
 *
 * @throws StoreTimeoutError without keys if the store does not answer for 20 s.
 */
export async function missingKeysOf(store: Store, keys: readonly string[]): Promise<readonly string[]> {
  const missing = await answered(() => store.wait(keys, { timeoutMs: 0 }));
  return missing instanceof StoreTimeoutError ? missing.missingKeys : [];
}

/** What the store answered: the result, or which keys are missing. No answer says nothing about the keys. */
async function answered<T>(ask: () => Promise<T>): Promise<T | StoreTimeoutError> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreTimeoutError)) throw error;
      if (error.missingKeys.length > 0) return error;
      if (attempt === maxAttempts) throw error;
    }
  }
}
