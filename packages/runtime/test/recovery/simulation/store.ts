import { StoreTimeoutError, type Store } from '@ringrun/core';
import type { PrefixDeleter } from '../../../../rendezvous/src/store/delete-prefix.ts';
import type { ManyReader } from '../../../../rendezvous/src/store/peek.ts';
import type { SimulatedTime } from '../../../../rendezvous/test/rounds/simulation/time.ts';

/** Milliseconds of a message, on average. */
const messageMs = 1;

/** The store of a simulated job. Calls take effect in the order of their arrival. */
export class SimulatedStore {
  readonly values = new Map<string, string>();
  readonly #time: SimulatedTime;
  readonly #waits = new Set<() => void>();

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  /** The client of a process, which receives answers only while it runs. */
  client(runs: () => boolean): Store & PrefixDeleter & ManyReader {
    const call = <T>(carryOut: () => T) =>
      new Promise<T>((resolve) => {
        this.#time.about(messageMs, () => {
          const result = carryOut();
          for (const look of [...this.#waits]) look();
          this.#time.about(messageMs, () => {
            if (runs()) resolve(result);
          });
        });
      });
    /** Resolves with the result of `read` at the first moment when all keys exist. */
    const wait = <T>(keys: readonly string[], timeoutMs: number, read: () => T) =>
      new Promise<T>((resolve, reject) => {
        const isThere = () => keys.every((key) => this.values.has(key));
        const answer = (act: () => void) => {
          this.#waits.delete(look);
          this.#time.about(messageMs, () => {
            if (runs()) act();
          });
        };
        const look = () => {
          if (!isThere()) return;
          const result = read();
          answer(() => {
            resolve(result);
          });
        };
        this.#time.about(messageMs, () => {
          this.#waits.add(look);
          look();
          if (!this.#waits.has(look) || timeoutMs === Infinity) return;
          this.#time.agenda.after(timeoutMs, () => {
            if (!this.#waits.has(look)) return;
            const missing = keys.filter((key) => !this.values.has(key));
            answer(() => {
              reject(new StoreTimeoutError(missing, `no ${missing.join()} within ${timeoutMs} ms`));
            });
          });
        });
      });
    return {
      timeoutMs: 60_000,
      set: (key, value) => call(() => void this.values.set(key, textOf(value))),
      get: (key, { timeoutMs = 60_000 } = {}) =>
        wait([key], timeoutMs, () => Buffer.from(this.values.get(key)!)),
      multiSet: (keys, values) =>
        call(() => {
          for (const [i, key] of keys.entries()) this.values.set(key, textOf(values[i]));
        }),
      multiGet: (keys, { timeoutMs = 60_000 } = {}) =>
        wait(keys, timeoutMs, () => keys.map((key) => Buffer.from(this.values.get(key)!))),
      multiPeek: (keys) =>
        call(() =>
          keys.map((key) => (this.values.has(key) ? Buffer.from(this.values.get(key)!) : undefined)),
        ),
      add: (key, amount) =>
        call(() => {
          const sum = Number(this.values.get(key) ?? 0) + amount;
          this.values.set(key, String(sum));
          return sum;
        }),
      wait: (keys, { timeoutMs = 60_000 } = {}) => wait(keys, timeoutMs, () => undefined),
      check: (keys) => call(() => keys.every((key) => this.values.has(key))),
      compareSet: (key, expected, desired) =>
        call(() => {
          if ((this.values.get(key) ?? '') === textOf(expected)) this.values.set(key, textOf(desired));
          return Buffer.from(this.values.get(key) ?? '');
        }),
      deleteKey: (key) => call(() => this.values.delete(key)),
      deletePrefix: (prefix) =>
        call(() => {
          const keys = [...this.values.keys()].filter((key) => key.startsWith(prefix));
          for (const key of keys) this.values.delete(key);
          return keys.length;
        }),
      numKeys: () => call(() => this.values.size),
      close: () => Promise.resolve(),
    };
  }
}

function textOf(value: string | Uint8Array): string {
  return typeof value === 'string' ? value : Buffer.from(value).toString('utf8');
}
