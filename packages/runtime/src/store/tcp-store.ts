import {
  InvalidArgumentError,
  StoreTimeoutError,
  requireOptions,
  type OptionNames,
} from '@ringrun/collectives';
import { StoreClient, openConnection } from './client.ts';
import type { StoreConnection } from './connection.ts';
import type { HostPort } from './endpoint.ts';
import { hostStore } from './hosted-store.ts';
import type { HostedStore } from './hosted-store.ts';
import { formatDuration } from './waiting-lines.ts';

export interface TCPStoreOptions extends HostPort {
  /** Processes that use the store, the host among them; any number unless given. */
  worldSize?: number;
  /** Whether this process hosts the store, at `host:port`; false unless given. With port 0 at any that is free. */
  isMaster?: boolean;
  /** Milliseconds until opening, and each call that names no time of its own, gives up; 5 minutes unless given. */
  timeoutMs?: number;
  /** Whether the host waits until `worldSize` processes are there; true unless given. */
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
 * A `Store` that one process hosts for all, in a thread of its own (torch.distributed.TCPStore). It ends when its host closes it.
 *
 *     const store = await TCPStore.open({ host: '10.0.0.1', port: 29500, worldSize: 2, isMaster: rank === 0 });
 */
export class TCPStore extends StoreClient {
  readonly host: string;
  readonly port: number;
  readonly #hosted: HostedStore | undefined;

  private constructor(
    connection: StoreConnection,
    options: TCPStoreOptions,
    hosted: HostedStore | undefined,
  ) {
    super(connection, timeoutOf(options));
    this.host = options.host;
    this.port = hosted?.port ?? options.port;
    this.#hosted = hosted;
  }

  /**
   * Hosts the store, or connects to it, patiently; the host waits for the others.
   *
   * @throws errors of `StoreServer.bind` on the host; of `connectStore`; StoreTimeoutError on the host when workers are missing at the end of the time;
   * InvalidArgumentError for a world size that is none.
   */
  static async open(options: TCPStoreOptions): Promise<TCPStore> {
    requireOptions('TCPStore.open', options, optionNames);
    checkWorldSize(options.worldSize);
    const hosted = options.isMaster === true ? await hostStore(options) : undefined;
    const at = hosted
      ? { host: options.host === '*' ? '127.0.0.1' : options.host, port: hosted.port }
      : options;
    try {
      const connection = await openConnection({ ...at, timeoutMs: timeoutOf(options) });
      const store = new TCPStore(connection, options, hosted);
      await store.#meet(options);
      return store;
    } catch (error) {
      await hosted?.close();
      throw error;
    }
  }

  /** Ends this client's connection, and on the host the store. */
  override async close(): Promise<void> {
    await super.close();
    await this.#hosted?.close();
  }

  async #meet({ worldSize, waitForWorkers = true }: TCPStoreOptions): Promise<void> {
    if (worldSize === undefined || !waitForWorkers) return;
    const count = await this.add(countKey, 1);
    if (count === worldSize) await this.set(completeKey, '');
    if (!this.#hosted) return;
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
      `TCPStore waited ${formatDuration(this.timeoutMs)} for ${worldSize} processes, the host among them: ${there} came. Give all of them the same host, ` +
        `port and worldSize, or more time with timeoutMs; waitForWorkers: false does not wait.`,
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
