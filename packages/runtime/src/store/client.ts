import { setTimeout as sleep } from 'node:timers/promises';
import { isIP } from 'node:net';
import { StoreTimeoutError, defaultTimeoutMs, requireOptions, type OptionNames } from '@ringrun/collectives';
import { CallingStore, checkTimeout } from './calling-store.ts';
import type { Success } from './calling-store.ts';
import { checkPort, formatHostPort, resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import { StoreConnection } from './connection.ts';
import { nameKeys } from './errors.ts';
import { WaitingLines, formatDuration } from './waiting-lines.ts';
import type { Call } from './wire.ts';

export interface ConnectStoreOptions extends HostPort {
  /** Milliseconds until the connection, and each call that names no time of its own, gives up; 30 minutes unless given. */
  timeoutMs?: number | undefined;
  /** Milliseconds until each call that names no time of its own gives up; `timeoutMs` unless given. */
  callTimeoutMs?: number;
  /** Who waits, for the lines that say so, such as `rank 1`. */
  who?: string;
  /** What a person calls missing keys, such as `ranks 1 and 3 to join`; `key "a"` unless given, or where it returns undefined. */
  describeKeys?: (keys: readonly string[]) => string | undefined;
  /** Takes the lines that say what is waited for; stderr unless given. */
  log?: (line: string) => void;
}

const optionNames: OptionNames<ConnectStoreOptions> = {
  host: true,
  port: true,
  timeoutMs: true,
  callTimeoutMs: true,
  who: true,
  describeKeys: true,
  log: true,
};

const resolveEveryMs = 500;

/**
 * Connects to a store, patiently: a name that does not resolve yet and a port on which nothing listens yet are tried again until the
 * time is over, and every few seconds a line says which of the two it is.
 *
 * @throws StoreTimeoutError that says what was tried; RingrunError `ERR_STORE_PROTOCOL` when something else, or another version,
 * answers; InvalidArgumentError when no store can have this address.
 */
export async function connectStore(options: ConnectStoreOptions): Promise<StoreClient> {
  requireOptions('connectStore', options, optionNames);
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const connection = await openConnection({ ...options, timeoutMs });
  return new StoreClient(connection, options.callTimeoutMs ?? timeoutMs);
}

/** The connection of `connectStore`, greeted. */
export async function openConnection(
  options: ConnectStoreOptions & { timeoutMs: number },
): Promise<StoreConnection> {
  const timeoutMs = checkTimeout(options.timeoutMs);
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
  return connection;
}

/** A `Store` in another thread or process, here or on another host. Calls under way keep the process alive, an idle client does not. */
export class StoreClient extends CallingStore {
  readonly #connection: StoreConnection;

  /** @param connection One that was greeted: `connectStore` makes them. */
  constructor(connection: StoreConnection, timeoutMs: number) {
    super(timeoutMs);
    this.#connection = connection;
  }

  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  protected request(call: Call, timeoutMs: number): Promise<Success> {
    return this.#connection.request(call, timeoutMs);
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
