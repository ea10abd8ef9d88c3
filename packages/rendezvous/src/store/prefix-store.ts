import { StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { deletePrefix } from './delete-prefix.ts';
import { multiPeek } from './peek.ts';

/** A part of another store in which every key begins with `prefix/` (torch.distributed.PrefixStore). */
export class PrefixStore implements Store {
  readonly timeoutMs: number;
  readonly #store: Store;
  readonly #prefix: string;

  /**
   * @param prefix Equal on every rank.
   * @param store Stores the keys. It stays usable; closing either closes both.
   */
  constructor(prefix: string, store: Store) {
    this.timeoutMs = store.timeoutMs;
    this.#store = store;
    this.#prefix = prefix;
  }

  set(key: string, value: string | Uint8Array): Promise<void> {
    return this.#store.set(this.#full(key), value);
  }

  get(key: string, options?: { timeoutMs?: number }): Promise<Uint8Array> {
    return this.#named(this.#store.get(this.#full(key), options));
  }

  multiSet(keys: readonly string[], values: readonly (string | Uint8Array)[]): Promise<void> {
    return this.#store.multiSet(keys.map(this.#full), values);
  }

  multiGet(keys: readonly string[], options?: { timeoutMs?: number }): Promise<Uint8Array[]> {
    return this.#named(this.#store.multiGet(keys.map(this.#full), options));
  }

  /** @internal */
  multiPeek(keys: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    return multiPeek(this.#store, keys.map(this.#full));
  }

  add(key: string, amount: number): Promise<number> {
    return this.#store.add(this.#full(key), amount);
  }

  wait(keys: readonly string[], options?: { timeoutMs?: number }): Promise<void> {
    return this.#named(this.#store.wait(keys.map(this.#full), options));
  }

  check(keys: readonly string[]): Promise<boolean> {
    return this.#store.check(keys.map(this.#full));
  }

  compareSet(key: string, expected: string | Uint8Array, desired: string | Uint8Array): Promise<Uint8Array> {
    return this.#store.compareSet(this.#full(key), expected, desired);
  }

  deleteKey(key: string): Promise<boolean> {
    return this.#store.deleteKey(this.#full(key));
  }

  /** @internal */
  deletePrefix(prefix: string): Promise<number> {
    return deletePrefix(this.#store, this.#full(prefix));
  }

  /** Number of keys of the whole store, as in torch. */
  numKeys(): Promise<number> {
    return this.#store.numKeys();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  readonly #full = (key: string): string => `${this.#prefix}/${key}`;

  /** Removes the prefix from the missing keys of errors. */
  async #named<T>(result: Promise<T>): Promise<T> {
    try {
      return await result;
    } catch (error) {
      if (!(error instanceof StoreTimeoutError)) throw error;
      const names = error.missingKeys.map((key) => key.slice(this.#prefix.length + 1));
      throw new StoreTimeoutError(names, error.message);
    }
  }
}
