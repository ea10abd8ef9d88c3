import type { Store } from '@ringrun/core';
import { PrefixStore } from '../store/prefix-store.ts';

/** The keys of a group that is being formed. Waiting calls throw as soon as `abandoned` rejects. */
export class AbandonableStore extends PrefixStore {
  readonly #abandoned: Promise<never>;

  constructor(store: Store, abandoned: Promise<never>) {
    super('ranks', store);
    this.#abandoned = abandoned;
  }

  override get(key: string, options?: { timeoutMs?: number }): Promise<Uint8Array> {
    return this.#unlessAbandoned(super.get(key, options));
  }

  override multiGet(keys: readonly string[], options?: { timeoutMs?: number }): Promise<Uint8Array[]> {
    return this.#unlessAbandoned(super.multiGet(keys, options));
  }

  override wait(keys: readonly string[], options?: { timeoutMs?: number }): Promise<void> {
    return this.#unlessAbandoned(super.wait(keys, options));
  }

  async #unlessAbandoned<T>(call: Promise<T>): Promise<T> {
    call.catch(() => undefined);
    return await Promise.race([call, this.#abandoned]);
  }
}
