import { InvalidArgumentError, quoted, requireOptions } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { longestTimeoutMs } from './limits.ts';
import type { Call, Failure, Result } from './wire.ts';

/** Result of a call that succeeded. */
export type Success = Exclude<Result, Failure>;

const timeoutOption = { timeoutMs: true } as const;

/**
 * Base of stores that execute calls elsewhere: checks the arguments, sends one request per call and unwraps the result.
 */
export abstract class CallingStore implements Store {
  readonly timeoutMs: number;

  /** @throws InvalidArgumentError if `timeoutMs` is negative or NaN. */
  constructor(timeoutMs: number) {
    this.timeoutMs = checkTimeout(timeoutMs);
  }

  /**
   * Executes the call within `timeoutMs`. For calls that wait for keys, `timeoutMs` limits that wait.
   *
   * @internal
   */
  protected abstract request(call: Call, timeoutMs: number): Promise<Success>;

  abstract close(): Promise<void>;

  async set(key: string, value: string | Uint8Array): Promise<void> {
    await this.#call('done', { op: 'set', key, value: bytesOf(value) });
  }

  async get(key: string, options: { timeoutMs?: number } = {}): Promise<Uint8Array> {
    requireOptions('get', options, timeoutOption);
    const timeoutMs = checkTimeout(options.timeoutMs ?? this.timeoutMs);
    const { bytes } = await this.#call('value', { op: 'get', key, timeoutMs: finite(timeoutMs) }, timeoutMs);
    return new Uint8Array(bytes);
  }

  async multiSet(keys: readonly string[], values: readonly (string | Uint8Array)[]): Promise<void> {
    await this.#call('done', { op: 'multiSet', keys: [...keys], values: values.map(bytesOf) });
  }

  async multiGet(keys: readonly string[], options: { timeoutMs?: number } = {}): Promise<Uint8Array[]> {
    requireOptions('multiGet', options, timeoutOption);
    const timeoutMs = checkTimeout(options.timeoutMs ?? this.timeoutMs);
    const call: Call = { op: 'multiGet', keys: [...keys], timeoutMs: finite(timeoutMs) };
    return (await this.#call('values', call, timeoutMs)).values.map((bytes) => new Uint8Array(bytes));
  }

  /** @internal */
  async multiPeek(keys: readonly string[]): Promise<(Uint8Array | undefined)[]> {
    const { values, missing } = await this.#call('values', { op: 'multiPeek', keys: [...keys] });
    const found: (Uint8Array | undefined)[] = values.map((bytes) => new Uint8Array(bytes));
    for (const i of missing) found[i] = undefined;
    return found;
  }

  async add(key: string, amount: number): Promise<number> {
    if (!Number.isSafeInteger(amount)) {
      throw new InvalidArgumentError(
        `add(${quoted(key)}, ${amount}) failed: expected an integer from -(2^53 - 1) to 2^53 - 1, got ${amount}.`,
      );
    }
    return (await this.#call('count', { op: 'add', key, amount })).number;
  }

  async wait(keys: readonly string[], options: { timeoutMs?: number } = {}): Promise<void> {
    requireOptions('wait', options, timeoutOption);
    const timeoutMs = checkTimeout(options.timeoutMs ?? this.timeoutMs);
    await this.#call('done', { op: 'wait', keys: [...keys], timeoutMs: finite(timeoutMs) }, timeoutMs);
  }

  async check(keys: readonly string[]): Promise<boolean> {
    return (await this.#call('flag', { op: 'check', keys: [...keys] })).yes;
  }

  async compareSet(
    key: string,
    expected: string | Uint8Array,
    desired: string | Uint8Array,
  ): Promise<Uint8Array> {
    const call: Call = { op: 'compareSet', key, expected: bytesOf(expected), desired: bytesOf(desired) };
    return new Uint8Array((await this.#call('value', call)).bytes);
  }

  async deleteKey(key: string): Promise<boolean> {
    return (await this.#call('flag', { op: 'deleteKey', key })).yes;
  }

  /** @internal */
  async deletePrefix(prefix: string): Promise<number> {
    return (await this.#call('count', { op: 'deletePrefix', prefix })).number;
  }

  async numKeys(): Promise<number> {
    return (await this.#call('count', { op: 'numKeys' })).number;
  }

  /** @param kind The kind of result that a successful call returns. */
  async #call<K extends Success['kind']>(
    kind: K,
    call: Call,
    timeoutMs = this.timeoutMs,
  ): Promise<Extract<Success, { kind: K }>> {
    const result = await this.request(call, timeoutMs);
    if (result.kind !== kind)
      throw new Error(`the store answered ${call.op} with ${result.kind}, expected ${kind}`);
    return result as Extract<Success, { kind: K }>;
  }
}

/** Returns `timeoutMs` if it is valid. 0: do not wait. Infinity: no limit. */
export function checkTimeout(timeoutMs: number): number {
  if (!(timeoutMs >= 0)) {
    throw new InvalidArgumentError(
      `timeoutMs is ${timeoutMs}, expected a number of milliseconds of at least 0.`,
    );
  }
  return timeoutMs;
}

/** Stores support finite timeouts only. */
function finite(timeoutMs: number): number {
  return Math.min(timeoutMs, longestTimeoutMs);
}

function bytesOf(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value;
}
