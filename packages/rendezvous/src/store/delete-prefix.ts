import type { Store } from '@ringrun/core';

/** A store that deletes many keys in one call. Users' stores need not implement it; their keys are kept. */
export interface PrefixDeleter {
  /** Deletes every key that begins with the prefix, and returns their number. */
  deletePrefix(prefix: string): Promise<number>;
}

/** Deletes the keys that begin with the prefix, if the store can. */
export async function deletePrefix(store: Store & Partial<PrefixDeleter>, prefix: string): Promise<number> {
  return (await store.deletePrefix?.(prefix)) ?? 0;
}

/** Deletes the keys `<name>/<last>/…`, and any left under smaller numbers. */
export async function deleteNumbered(store: Store, name: string, last: number): Promise<void> {
  for (let number = last; number >= 0; number -= 1)
    if ((await deletePrefix(store, `${name}/${number}/`)) === 0) return;
}
