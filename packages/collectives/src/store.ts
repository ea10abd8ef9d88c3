/**
 * A key-value store that all ranks of a job share: how they find each other before any connection exists.
 *
 * Semantics are those of torch.distributed.Store, with the contract that torch leaves to each
 * implementation written once, here:
 *
 * - Values are bytes; a string given is stored as UTF-8.
 * - `get` and `wait` block while a key is missing, `check` and `numKeys` never do.
 * - What blocks ends at `timeoutMs` with a `StoreTimeoutError` that names the missing keys.
 * - Operations on one key are atomic and seen by every rank in one order.
 */
export interface Store {
  /** Milliseconds after which a blocking call gives up, unless the call names its own. */
  readonly timeoutMs: number;

  /** Sets `key` to `value`, whatever it was, and wakes those who wait for it. */
  set(key: string, value: string | Uint8Array): Promise<void>;

  /** The value of `key`; waits until it exists. */
  get(key: string, options?: { timeoutMs?: number }): Promise<Uint8Array>;

  /**
   * Adds `amount` to the counter `key`, which counts from 0 when missing, and resolves with the new count.
   * The counter is stored as decimal text, so `get` reads it too.
   */
  add(key: string, amount: number): Promise<number>;

  /** Resolves when every key exists. */
  wait(keys: readonly string[], options?: { timeoutMs?: number }): Promise<void>;

  /** Whether every key exists now. */
  check(keys: readonly string[]): Promise<boolean>;

  /**
   * Sets `key` to `desired` when its value is `expected`, or when it is missing and `expected` is empty.
   * Resolves with the value that is there afterwards: `desired` means that this call (or an equal one) won.
   */
  compareSet(key: string, expected: string | Uint8Array, desired: string | Uint8Array): Promise<Uint8Array>;

  /** Removes `key`; resolves with whether it was there. */
  deleteKey(key: string): Promise<boolean>;

  /** How many keys exist. */
  numKeys(): Promise<number>;

  /** Ends this client's connection; calls under way are rejected. The data stays with the host of the store. */
  close(): Promise<void>;
}
