/**
 * A key-value store that all ranks of a job share: how they find each other before any connection exists.
 *
 * Semantics are those of torch.distributed.Store, with the contract that torch leaves to each implementation written once, here, and tested on all of them
 * by one suite (packages/runtime/test/store/conformance.ts):
 *
 * - Keys are strings of any length and characters, the empty one too. Values are bytes, as many as none or as memory holds; a string given is stored as UTF-8.
 *   What was given may be changed after the call, what was returned too.
 * - `get` and `wait` block while a key is missing; a key with an empty value is not missing. Nothing else blocks: a call that changes something or looks
 *   takes as long as its way to the store.
 * - What blocks ends at `timeoutMs` with a `StoreTimeoutError` that names the missing keys. 0 means now or not, Infinity without end.
 * - A `wait` for several keys ends at a moment at which all are there together: one that was deleted meanwhile is waited for again.
 * - Each call takes effect at once and as a whole, and all ranks see the effects in one order; the calls of one client take effect in the order in which they
 *   were made, without awaiting the one before. A `get` or `wait` that blocks lets later ones pass.
 * - A call that is rejected has changed nothing (`ERR_STORE_INTERRUPTED`, of a connection that broke, says that this is not known).
 * - After `close` every call, those under way too, is rejected with `ERR_STORE_CLOSED`; other clients go on.
 */
export interface Store {
  /** Milliseconds after which a blocking call gives up, unless the call names its own. */
  readonly timeoutMs: number;

  /** Sets `key` to `value`, whatever it was, and wakes those who wait for it. */
  set(key: string, value: string | Uint8Array): Promise<void>;

  /**
   * The value of `key`; waits until it exists.
   *
   * @throws StoreTimeoutError when it does not in time; InvalidArgumentError for a time that is none.
   */
  get(key: string, options?: { timeoutMs?: number }): Promise<Uint8Array>;

  /**
   * Adds `amount` to the counter `key`, which counts from 0 when missing, and resolves with the new count.
   * The counter is stored as decimal text, so `get` reads it, and `set` sets it.
   *
   * @throws InvalidArgumentError when `amount` or the sum is no integer between −(2^53 − 1) and 2^53 − 1, or the value no decimal text.
   */
  add(key: string, amount: number): Promise<number>;

  /**
   * Resolves when every key exists; at once when there is none to wait for.
   *
   * @throws StoreTimeoutError with the keys that do not, when the time is over; InvalidArgumentError for a time that is none.
   */
  wait(keys: readonly string[], options?: { timeoutMs?: number }): Promise<void>;

  /** Whether every key exists now. */
  check(keys: readonly string[]): Promise<boolean>;

  /**
   * Sets `key` to `desired` when its value is `expected`; a missing key has an empty value here. Resolves with the value that is there afterwards, empty for a
   * key that is still missing: `desired` means that this call (or an equal one) won.
   */
  compareSet(key: string, expected: string | Uint8Array, desired: string | Uint8Array): Promise<Uint8Array>;

  /** Removes `key`; resolves with whether it was there. Those who wait for it go on waiting. */
  deleteKey(key: string): Promise<boolean>;

  /** How many keys exist, of the whole store. */
  numKeys(): Promise<number>;

  /** Ends this client's use of the store, once or again. The data stays for the others. */
  close(): Promise<void>;
}
