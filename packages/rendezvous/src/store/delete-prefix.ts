import type { Store } from '@ringrun/core';

/** A store that deletes many keys in one call. Stores of users need not have it: their keys stay. */
export interface PrefixDeleter {
  /** Deletes every key that begins with the prefix, and returns their number. */
  deletePrefix(prefix: string): Promise<number>;
}

/** Deletes the keys that begin with the prefix, if the store can. */
export async function deletePrefix(store: Store & Partial<PrefixDeleter>, prefix: string): Promise<number> {
  return (await store.deletePrefix?.(prefix)) ?? 0;
}

/** Deletes the keys `<name>/<last>/…`, and those of the numbers before it that still have some. */
export async function deleteNumbered(store: Store, name: string, last: number): Promise<void> {
  for (let number = last; number >= 0; number -= 1)
    if ((await deletePrefix(store, `${name}/${number}/`)) === 0) return;
}
