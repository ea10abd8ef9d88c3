import { formatDuration, InvalidArgumentError, requireOptions, StoreTimeoutError } from '@ringrun/core';
import type { OptionNames } from '@ringrun/core';
import { StoreClient, openConnection } from './client.ts';
import type { StoreConnection } from './connection.ts';
import type { HostPort } from './endpoint.ts';
import { serveStoreInThread } from './threaded-server.ts';
import type { ThreadedStoreServer } from './threaded-server.ts';

/** Options of {@link TCPStore.open}. */
export interface TCPStoreOptions extends HostPort {
  /** Number of processes that use the store, including the server. Default: any number. */
  worldSize?: number;
  /** True if this process serves the store, at `host:port` (port 0: any free port). Default: `false`. */
  isMaster?: boolean;
  /** Timeout in milliseconds of opening, and of each call without its own timeout. Default: 5 minutes. */
  timeoutMs?: number;
  /** True if the server waits until `worldSize` processes have connected. Default: `true`. */
  waitForWorkers?: boolean;
}

const optionNames: OptionNames<TCPStoreOptions> = {
  host: true,
  port: true,
  worldSize: true,
  isMaster: true,
  timeoutMs: true,
  waitForWorkers: true,
};

const countKey = 'ringrun/workers';
const completeKey = 'ringrun/workers/complete';

/**
 * A `Store` served by one process in a worker thread (torch.distributed.TCPStore). It ends when that process closes it.
 *
 *     const store = await TCPStore.open({ host: '10.0.0.1', port: 29500, worldSize: 2, isMaster: rank === 0 });
 */
export class TCPStore extends StoreClient {
  /** The host that was passed to `open`. */
  readonly host: string;
  /** The store's port: on the server a free one if `open` was called with port 0. */
  readonly port: number;
  readonly #server: ThreadedStoreServer | undefined;

  private constructor(
    connection: StoreConnection,
    options: TCPStoreOptions,
    server: ThreadedStoreServer | undefined,
  ) {
    super(connection, timeoutOf(options));
    this.host = options.host;
    this.port = server?.port ?? options.port;
    this.#server = server;
  }

  /**
   * Serves the store or connects to it, with retries until the timeout. The server waits for the other processes.
   *
   * @throws the errors of `StoreServer.bind` on the server and of `connectStore`; StoreTimeoutError on the server if
   * processes are missing at the timeout; InvalidArgumentError for an invalid world size.
   */
  static async open(options: TCPStoreOptions): Promise<TCPStore> {
    requireOptions('TCPStore.open', options, optionNames);
    checkWorldSize(options.worldSize);
    const server = options.isMaster === true ? await serveStoreInThread(options) : undefined;
    const at = server
      ? { host: options.host === '*' ? '127.0.0.1' : options.host, port: server.port }
      : options;
    try {
      const connection = await openConnection({ ...at, timeoutMs: timeoutOf(options) });
      const store = new TCPStore(connection, options, server);
      await store.#waitForWorkers(options);
      return store;
    } catch (error) {
      await server?.close();
      throw error;
    }
  }

  /** Closes this client's connection. The server also ends the store. */
  override async close(): Promise<void> {
    await super.close();
    await this.#server?.close();
  }

  async #waitForWorkers({ worldSize, waitForWorkers = true }: TCPStoreOptions): Promise<void> {
    if (worldSize === undefined || !waitForWorkers) return;
    const count = await this.add(countKey, 1);
    if (count === worldSize) await this.set(completeKey, '');
    if (!this.#server) return;
    try {
      await this.wait([completeKey]);
    } catch (error) {
      throw error instanceof StoreTimeoutError ? await this.#missingWorkers(worldSize) : error;
    }
  }

  async #missingWorkers(worldSize: number): Promise<StoreTimeoutError> {
    const there = await this.add(countKey, 0);
    await super.close();
    return new StoreTimeoutError(
      [completeKey],
      `TCPStore waited ${formatDuration(this.timeoutMs)} for ${worldSize} processes, including the server, but only ${there} connected. Set the same host, ` +
        `port and worldSize on all of them, or a longer timeoutMs; waitForWorkers: false disables the wait.`,
    );
  }
}

function timeoutOf({ timeoutMs = 300_000 }: TCPStoreOptions): number {
  return timeoutMs;
}

function checkWorldSize(worldSize: number | undefined): void {
  if (worldSize === undefined || (Number.isInteger(worldSize) && worldSize >= 1)) return;
  throw new InvalidArgumentError(`TCPStore's worldSize is ${worldSize}, expected an integer of at least 1.`);
}
