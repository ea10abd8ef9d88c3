import { setTimeout as sleep } from 'node:timers/promises';
import { defaultTimeoutMs, formatDuration, requireOptions, StoreTimeoutError } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { storeKeys } from '../secret/keys.ts';
import { CallingStore, checkTimeout } from './calling-store.ts';
import type { Success } from './calling-store.ts';
import { checkPort, formatHostPort, resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import { StoreConnection } from './connection.ts';
import { nameKeys } from './errors.ts';
import { numberedKeys } from './numbered-keys.ts';
import { WaitReporter } from './wait-reporter.ts';
import type { Call } from './wire.ts';

/** Options of {@link connectStore}. */
export interface ConnectStoreOptions extends HostPort {
  /** Timeout in milliseconds of connecting, and of each call without its own timeout. Default: 30 minutes. */
  timeoutMs?: number | undefined;
  /** Timeout in milliseconds of each call without its own timeout. Default: `timeoutMs`. */
  callTimeoutMs?: number;
  /** Name of this process in its log lines, such as `rank 1`. */
  who?: string;
  /** Describes missing keys in messages, such as `ranks 1 and 3 to join`. Default, and for undefined: `key "a"`. */
  describeKeys?: (keys: readonly string[]) => string | undefined;
  /** Receives the log lines about waits. Default: writes to stderr. */
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
 * Connects to a store. Retries until the timeout if the host name does not resolve yet or nothing listens on the port
 * yet, and logs the reason every few seconds.
 *
 * @throws StoreTimeoutError with the last failure; RingrunError `ERR_STORE_PROTOCOL` if the server is not a ringrun
 * store or has another version, `ERR_SECRET_MISMATCH` if it has another secret (RINGRUN_SECRET); InvalidArgumentError
 * for an invalid address.
 */
export async function connectStore(options: ConnectStoreOptions): Promise<StoreClient> {
  requireOptions('connectStore', options, optionNames);
  return openClient(options);
}

/** Options of `openConnection`. */
export interface OpenOptions extends ConnectStoreOptions {
  timeoutMs: number;
  /** Ends the attempt, not an open connection. */
  signal?: AbortSignal;
}

/** `connectStore` of this package. */
export async function openClient(
  options: Omit<OpenOptions, 'timeoutMs'> & { timeoutMs?: number | undefined },
): Promise<StoreClient> {
  const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
  const connection = await openConnection({ ...options, timeoutMs });
  return new StoreClient(connection, options.callTimeoutMs ?? timeoutMs);
}

/** Opens the connection of `connectStore` and waits for the store's first answer. */
export async function openConnection(options: OpenOptions): Promise<StoreConnection> {
  const timeoutMs = checkTimeout(options.timeoutMs);
  checkPort(options.port, 1);
  const keys = storeKeys();
  const startedAt = performance.now();
  const lines = new WaitReporter(options.who, options.log);
  const address = await resolvePatiently(options, lines, timeoutMs);
  const connection = new StoreConnection({
    host: options.host,
    port: options.port,
    address,
    keys,
    lines,
    describeKeys: (keys) => options.describeKeys?.(keys) ?? nameKeys(keys),
  });
  const close = () => {
    connection.close();
  };
  options.signal?.addEventListener('abort', close);
  try {
    await connection.greet(timeoutMs, startedAt);
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    options.signal?.removeEventListener('abort', close);
  }
  return connection;
}

/** A `Store` in another thread, process or host. Pending calls keep the process alive, an idle client does not. */
export class StoreClient extends CallingStore {
  readonly #connection: StoreConnection;

  /**
   * @param connection Opened by `openConnection`.
   * @internal
   */
  constructor(connection: StoreConnection, timeoutMs: number) {
    super(timeoutMs);
    this.#connection = connection;
  }

  /** Closes the connection at once. Pending calls reject. */
  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }

  /**
   * Sends no pings for waiting calls within `forMs` after a reply: a process that makes other calls regularly learns of the loss
   * of the store from them. Default: 0.
   *
   * @internal
   */
  keepQuiet(forMs: number): void {
    this.#connection.quietMs = forMs;
  }

  /** @internal */
  protected request(call: Call, timeoutMs: number): Promise<Success> {
    const numbered = call.op === 'wait' ? numberedKeys(call.keys) : undefined;
    const short: Call =
      numbered && 'timeoutMs' in call ? { op: 'waitNumbered', ...numbered, timeoutMs: call.timeoutMs } : call;
    return this.#connection.request(short, timeoutMs);
  }
}

async function resolvePatiently(
  options: OpenOptions,
  lines: WaitReporter,
  timeoutMs: number,
): Promise<string> {
  const startedAt = performance.now();
  for (;;) {
    try {
      const [address] = await resolveAddresses(options.host);
      return address;
    } catch (cause) {
      options.signal?.throwIfAborted();
      const state = `the name ${options.host} does not resolve (${(cause as NodeJS.ErrnoException).code})`;
      if (performance.now() - startedAt >= timeoutMs) {
        throw new StoreTimeoutError(
          [],
          `The store at ${formatHostPort(options)} was not reached within ${formatDuration(timeoutMs)}: ${state}. ` +
            `Set MASTER_ADDR to a name or address of rank 0's host that resolves on this host.`,
        );
      }
      lines.report(`the store at ${formatHostPort(options)}: ${state}`, startedAt, timeoutMs);
    }
    await sleep(Math.min(resolveEveryMs, Math.max(timeoutMs - (performance.now() - startedAt), 0)));
  }
}
