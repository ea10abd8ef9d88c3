/** A result, without a promise if it is known at once: each promise takes a turn of the microtask queue. */
export type MaybePromise<T> = T | Promise<T>;

/** All results; a promise only if one of them is. */
export function together<T>(all: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  return all.some((one) => one instanceof Promise)
    ? Promise.all(all.map(async (one) => await one))
    : (all as T[]);
}
