import { setTimeout as sleep } from 'node:timers/promises';
import { isIP } from 'node:net';
import { InvalidArgumentError, StoreTimeoutError, defaultTimeoutMs } from '@ringrun/collectives';
import type { Store } from '@ringrun/collectives';
import { checkPort, formatHostPort, resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import { StoreConnection } from './connection.ts';
import { WaitingLines, formatDuration } from './waiting-lines.ts';
import type { Call, Failure, Result } from './wire.ts';

export interface ConnectStoreOptions extends HostPort {
  /** Milliseconds until the connection, and each call that names no time of its own, gives up; 30 minutes unless given. */
  timeoutMs?: number | undefined;
  /** Who waits, for the lines that say so, such as `rank 1`. */
  who?: string;
  /** What a person calls missing keys, such as `ranks 1 and 3 to join`; `key "a"` unless given, or where it returns undefined. */
  describeKeys?: (keys: readonly string[]) => string | undefined;
  /** Takes the lines that say what is waited for; stderr unless given. */
  log?: (line: string) => void;
}

const resolveEveryMs = 500;

/**
 * Connects to a store, patiently: a name that does not resolve yet and a port on which nothing listens yet are tried again until the
 * time is over, and every few seconds a line says which of the two it is.
 *
 * @throws StoreTimeoutError that says what was tried; RingrunError `ERR_STORE_PROTOCOL` when something else, or another version,
 * answers; InvalidArgumentError when no store can have this address.
 */
export async function connectStore(options: ConnectStoreOptions): Promise<StoreClient> {
  const timeoutMs = checkTimeout(options.timeoutMs ?? defaultTimeoutMs);
  checkPort(options.port, 1);
  const startedAt = performance.now();
  const lines = new WaitingLines(options.who, options.log);
  const address = await resolvePatiently(options, lines, timeoutMs);
  const connection = new StoreConnection({
    host: options.host,
    port: options.port,
    ipv6: isIP(address) === 6,
    lines,
    describeKeys: (keys) => options.describeKeys?.(keys) ?? nameKeys(keys),
  });
  try {
    await connection.greet(timeoutMs, startedAt);
  } catch (error) {
    connection.close();
    throw error;
  }
  return new StoreClient(connection, timeoutMs);
}

/** A `Store` in another thread or process, here or on another host. Calls under way keep the process alive, an idle client does not. */
export class StoreClient implements Store {
  readonly timeoutMs: number;
  readonly #connection: StoreConnection;

  /** @param connection One that was greeted: `connectStore` makes them. */
  constructor(connection: StoreConnection, timeoutMs: number) {
    this.#connection = connection;
    this.timeoutMs = timeoutMs;
  }

  async set(key: string, value: string | Uint8Array): Promise<void> {
    await this.#call('done', { op: 'set', key, value: bytesOf(value) });
  }

  async get(key: string, options: { timeoutMs?: number } = {}): Promise<Uint8Array> {
    const timeoutMs = checkTimeout(options.timeoutMs ?? this.timeoutMs);
    const { bytes } = await this.#call('value', { op: 'get', key, timeoutMs }, timeoutMs);
    return new Uint8Array(bytes);
  }

  async add(key: string, amount: number): Promise<number> {
    if (!Number.isSafeInteger(amount)) {
      throw new InvalidArgumentError(
        `add("${key}", ${amount}): expected an integer between -(2^53 - 1) and 2^53 - 1.`,
      );
    }
    return (await this.#call('count', { op: 'add', key, amount })).number;
  }

  async wait(keys: readonly string[], options: { timeoutMs?: number } = {}): Promise<void> {
    const timeoutMs = checkTimeout(options.timeoutMs ?? this.timeoutMs);
    await this.#call('done', { op: 'wait', keys, timeoutMs }, timeoutMs);
  }

  async check(keys: readonly string[]): Promise<boolean> {
    return (await this.#call('flag', { op: 'check', keys })).yes;
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

  async numKeys(): Promise<number> {
    return (await this.#call('count', { op: 'numKeys' })).number;
  }

  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  /** A call and the one kind of result that the store answers it with. */
  async #call<K extends Exclude<Result, Failure>['kind']>(
    kind: K,
    call: Call,
    timeoutMs = this.timeoutMs,
  ): Promise<Extract<Result, { kind: K }>> {
    const result = await this.#connection.request(call, timeoutMs);
    if (result.kind !== kind)
      throw new Error(`the store answered ${call.op} with ${result.kind}, expected ${kind}`);
    return result as Extract<Result, { kind: K }>;
  }
}

async function resolvePatiently(
  options: ConnectStoreOptions,
  lines: WaitingLines,
  timeoutMs: number,
): Promise<string> {
  const startedAt = performance.now();
  for (;;) {
    try {
      const [address] = await resolveAddresses(options.host);
      return address;
    } catch (cause) {
      const state = `the name ${options.host} does not resolve (${(cause as NodeJS.ErrnoException).code})`;
      if (performance.now() - startedAt >= timeoutMs) {
        throw new StoreTimeoutError(
          [],
          `The store at ${formatHostPort(options)} was not reached within ${formatDuration(timeoutMs)}: ${state}. ` +
            `Set MASTER_ADDR to a name or address of the host of rank 0 that resolves here.`,
        );
      }
      lines.say(`the store at ${formatHostPort(options)}: ${state}`, startedAt, timeoutMs);
    }
    await sleep(Math.min(resolveEveryMs, Math.max(timeoutMs - (performance.now() - startedAt), 0)));
  }
}

/** Returns it when it can be one; 0 means without waiting, Infinity without end. */
function checkTimeout(timeoutMs: number): number {
  if (!(timeoutMs >= 0)) {
    throw new InvalidArgumentError(
      `timeoutMs is ${timeoutMs}, expected a number of milliseconds of at least 0.`,
    );
  }
  return timeoutMs;
}

function bytesOf(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value;
}

function nameKeys(keys: readonly string[]): string {
  return `${keys.length === 1 ? 'key' : 'keys'} ${keys.map((key) => JSON.stringify(key)).join(', ')}`;
}
