/**
 * A key-value store that all ranks of a job share, so that they can find each other before they are connected.
 *
 * Semantics are those of torch.distributed.Store. All implementations meet this contract, which one suite tests
 * (packages/rendezvous/test/store/conformance.ts):
 *
 * - Keys are arbitrary strings, including the empty one. Values are bytes; strings are stored as UTF-8. Values are
 *   copied: callers may change arrays that they passed or received.
 * - Stores may limit sizes and counts, and refuse calls beyond them with `ERR_STORE_LIMIT`. Keys of 250,000 characters
 *   and values of 8 MiB are accepted by all.
 * - Only `get`, `multiGet` and `wait` block, while a key is missing. A key with an empty value is not missing.
 * - A blocked call fails after `timeoutMs` with a `StoreTimeoutError` that names the missing keys. 0 does not wait;
 *   Infinity
 *   waits without limit.
 * - A `wait` or `multiGet` for several keys ends when all of them exist at the same time.
 * - Calls are atomic, and all ranks see their effects in one order. The calls of one client take effect in the order in
 *   which
 *   they were made, even if they are not awaited. A blocked call does not delay later calls.
 * - A rejected call has changed nothing, except that after `ERR_STORE_INTERRUPTED` (a broken connection) this is
 *   unknown.
 * - `close` rejects pending and later calls with `ERR_STORE_CLOSED`. Other clients are not affected.
 */
export interface Store {
  /** Default timeout of a blocking call, in milliseconds. */
  readonly timeoutMs: number;

  /** Sets `key` to `value` and wakes its waiters. */
  set(key: string, value: string | Uint8Array): Promise<void>;

  /**
   * Returns the value of `key`, after waiting until it exists.
   *
   * @throws StoreTimeoutError at the timeout; InvalidArgumentError for an invalid `timeoutMs`.
   */
  get(key: string, options?: { timeoutMs?: number }): Promise<Uint8Array>;

  /**
   * Sets each of the keys to the value at its index, all at once (torch's `multi_set`).
   *
   * @throws InvalidArgumentError unless there are as many values as keys.
   */
  multiSet(keys: readonly string[], values: readonly (string | Uint8Array)[]): Promise<void>;

  /**
   * Returns the values of the keys, in their order, after waiting until all of them exist (torch's `multi_get`). One
   * message, however many keys; the values together must fit into memory.
   *
   * @throws StoreTimeoutError with the missing keys at the timeout; InvalidArgumentError for an invalid `timeoutMs`.
   */
  multiGet(keys: readonly string[], options?: { timeoutMs?: number }): Promise<Uint8Array[]>;

  /**
   * Adds `amount` to the counter `key` (0 if missing) and resolves with the new count.
   * The counter is stored as decimal text, so `get` can read it and `set` can set it.
   *
   * @throws InvalidArgumentError if `amount` or the sum is not an integer from −(2^53 − 1) to 2^53 − 1, or if the value
   * is not decimal text.
   */
  add(key: string, amount: number): Promise<number>;

  /**
   * Resolves when every key exists; immediately for an empty list.
   *
   * @throws StoreTimeoutError with the missing keys at the timeout; InvalidArgumentError for an invalid `timeoutMs`.
   */
  wait(keys: readonly string[], options?: { timeoutMs?: number }): Promise<void>;

  /** Resolves with true if every key exists now. */
  check(keys: readonly string[]): Promise<boolean>;

  /**
   * Sets `key` to `desired` if its value is `expected`; a missing key matches an empty `expected`. Resolves with the
   * value afterwards (empty if the key is still missing): `desired` means that this call, or an equal one, succeeded.
   */
  compareSet(key: string, expected: string | Uint8Array, desired: string | Uint8Array): Promise<Uint8Array>;

  /** Deletes `key`. Resolves with true if it existed. Its waiters keep waiting. */
  deleteKey(key: string): Promise<boolean>;

  /** Number of keys in the whole store. */
  numKeys(): Promise<number>;

  /** Closes this client. May be called again. The data remains for other clients. */
  close(): Promise<void>;
}
