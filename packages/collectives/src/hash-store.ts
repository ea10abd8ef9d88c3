import {
  InvalidArgumentError,
  requireOptions,
  RingrunError,
  StoreTimeoutError,
  timeoutOption,
  longestTimerMs,
} from '@ringrun/core';
import type { Store } from '@ringrun/core';

interface Waiter {
  keys: readonly string[];
  resolve(): void;
  reject(error: RingrunError): void;
}

/**
 * A store inside one process (torch.distributed.HashStore): for a world size of 1, for ranks that are threads, and for
 * tests.
 *
 * A pending `get` or `wait` keeps the process alive.
 */
export class HashStore implements Store {
  readonly timeoutMs: number;
  readonly #values = new Map<string, Uint8Array>();
  readonly #waiters = new Set<Waiter>();
  #closed = false;

  /** @param options `timeoutMs`. Default: 300,000 (5 minutes), as in torch's stores. */
  constructor(options: { timeoutMs?: number } = {}) {
    requireOptions('HashStore', options, timeoutOption);
    this.timeoutMs = checkTimeout(options.timeoutMs ?? 300_000);
  }

  set(key: string, value: string | Uint8Array): Promise<void> {
    return this.#whileOpen(() => {
      this.#put(key, bytesOf(value));
    });
  }

  async get(key: string, options: { timeoutMs?: number } = {}): Promise<Uint8Array> {
    requireOptions('get', options, timeoutOption);
    return await this.#whenThere([key], options.timeoutMs, () => this.#values.get(key)!.slice());
  }

  multiSet(keys: readonly string[], values: readonly (string | Uint8Array)[]): Promise<void> {
    return this.#whileOpen(() => {
      if (keys.length !== values.length) {
        throw new InvalidArgumentError(
          `multiSet: expected a value for each of ${keys.length} keys, got ${values.length} values`,
        );
      }
      for (const [i, key] of keys.entries()) this.#put(key, bytesOf(values[i]));
    });
  }

  async multiGet(keys: readonly string[], options: { timeoutMs?: number } = {}): Promise<Uint8Array[]> {
    requireOptions('multiGet', options, timeoutOption);
    const all = [...keys];
    return await this.#whenThere(all, options.timeoutMs, () =>
      all.map((key) => this.#values.get(key)!.slice()),
    );
  }

  add(key: string, amount: number): Promise<number> {
    return this.#whileOpen(() => {
      const before = this.#values.get(key);
      const count = (before === undefined ? 0 : countOf(key, before)) + amount;
      if (!Number.isSafeInteger(count)) {
        throw new InvalidArgumentError(
          `add('${key}', ${amount}): expected an integer below 2^53 as the result, got ${count}`,
        );
      }
      this.#put(key, bytesOf(String(count)));
      return count;
    });
  }

  async wait(keys: readonly string[], options: { timeoutMs?: number } = {}): Promise<void> {
    requireOptions('wait', options, timeoutOption);
    await this.#whenThere([...keys], options.timeoutMs, () => undefined);
  }

  check(keys: readonly string[]): Promise<boolean> {
    return this.#whileOpen(() => this.#hasAll(keys));
  }

  compareSet(key: string, expected: string | Uint8Array, desired: string | Uint8Array): Promise<Uint8Array> {
    return this.#whileOpen(() => {
      const current = this.#values.get(key);
      const wanted = bytesOf(expected);
      const matches = current === undefined ? wanted.length === 0 : Buffer.compare(current, wanted) === 0;
      if (matches) this.#put(key, bytesOf(desired));
      return (this.#values.get(key) ?? new Uint8Array()).slice();
    });
  }

  deleteKey(key: string): Promise<boolean> {
    return this.#whileOpen(() => this.#values.delete(key));
  }

  numKeys(): Promise<number> {
    return this.#whileOpen(() => this.#values.size);
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const waiter of [...this.#waiters]) waiter.reject(closedError());
    return Promise.resolve();
  }

  /** Runs `operate` synchronously, so calls take effect in order. Rejects if it throws or if the store is closed. */
  #whileOpen<Result>(operate: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve) => {
      if (this.#closed) throw closedError();
      resolve(operate());
    });
  }

  /**
   * Reads the values at the moment all keys exist: a later call may delete them before the caller awaits the result.
   */
  #whenThere<Result>(
    keys: readonly string[],
    timeoutMs = this.timeoutMs,
    take: () => Result,
  ): Promise<Result> {
    return this.#whileOpen(() => {
      checkTimeout(timeoutMs);
      return this.#hasAll(keys) ? take() : this.#waitFor(keys, timeoutMs, take);
    });
  }

  #waitFor<Result>(keys: readonly string[], timeoutMs: number, take: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        keys,
        resolve: () => {
          this.#dismiss(waiter, timer);
          resolve(take());
        },
        reject: (error) => {
          this.#dismiss(waiter, timer);
          reject(error);
        },
      };
      const giveUp = () => {
        const missing = keys.filter((key) => !this.#values.has(key));
        const text = `timed out after ${timeoutMs} ms waiting for keys that no rank has set: ${missing.join(', ')}`;
        waiter.reject(new StoreTimeoutError(missing, text));
      };
      const timer = timeoutMs <= longestTimerMs ? setTimeout(giveUp, timeoutMs) : stayAlive();
      this.#waiters.add(waiter);
    });
  }

  #put(key: string, value: Uint8Array): void {
    this.#values.set(key, value);
    for (const waiter of [...this.#waiters]) {
      if (this.#hasAll(waiter.keys)) waiter.resolve();
    }
  }

  #hasAll(keys: readonly string[]): boolean {
    return keys.every((key) => this.#values.has(key));
  }

  #dismiss(waiter: Waiter, timer: NodeJS.Timeout): void {
    clearTimeout(timer);
    this.#waiters.delete(waiter);
  }
}

/** A wait without a timeout keeps the process alive too. */
function stayAlive(): NodeJS.Timeout {
  return setInterval(() => undefined, longestTimerMs);
}

function checkTimeout(timeoutMs: number): number {
  if (timeoutMs >= 0) return timeoutMs;
  throw new InvalidArgumentError(`timeoutMs is ${timeoutMs}, expected a number of milliseconds, at least 0`);
}

function closedError(): RingrunError {
  return new RingrunError('ERR_STORE_CLOSED', 'the store is closed. Do not use it after close()');
}

/** Copies the value: the caller may change its array afterwards. */
function bytesOf(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? new Uint8Array(Buffer.from(value)) : value.slice();
}

function countOf(key: string, value: Uint8Array): number {
  const text = Buffer.from(value).toString();
  if (!/^-?\d+$/.test(text)) {
    throw new InvalidArgumentError(
      `add('${key}'): expected the stored value to be an integer, got '${text}'`,
    );
  }
  return Number(text);
}
