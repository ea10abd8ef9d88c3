import { setTimeout as sleep } from 'node:timers/promises';
import { formatDuration, RingrunError, StoreTimeoutError } from '@ringrun/core';
import { jobSecret, noSecretWarning } from '../secret/job-secret.ts';
import { formatHostPort, isLoopback } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import { openClient } from '../store/client.ts';
import type { StoreClient } from '../store/client.ts';
import { probe } from '../store/reachability.ts';
import { StoreServer } from '../store/server.ts';
import { WaitReporter } from '../store/wait-reporter.ts';
import type { RendezvousStore } from './rendezvous-options.ts';
import { isThisHost } from './this-host.ts';

export interface JobStoreOptions {
  /** Address of the job's store, the same on all nodes. */
  readonly endpoint: HostPort;
  /**
   * Whether this node serves the store. Default: true if the endpoint is a name of this host and no other process has
   * bound the port.
   */
  readonly servesStore: boolean | undefined;
  /** Milliseconds to wait until the name resolves and the store accepts connections. */
  readonly joinTimeoutMs: number;
  /** Milliseconds to wait for one answer of the store. */
  readonly answerTimeoutMs: number;
  readonly log: (line: string) => void;
}

/** Milliseconds between two attempts to resolve the endpoint's name. */
const resolveEveryMs = 500;

/** Milliseconds between two checks whether the endpoint's name resolves to this host, while it waits for another one. */
const lookEveryMs = 2000;

/** The store of the rendezvous, at the endpoint of the job. One node serves it. */
export class JobStore implements RendezvousStore {
  readonly #options: JobStoreOptions;
  #server: StoreServer | undefined;
  /** Whether the endpoint was an address of this host when it was resolved last. */
  #isAtEndpoint = false;

  constructor(options: JobStoreOptions) {
    this.#options = options;
  }

  get endpoint(): HostPort {
    return this.#options.endpoint;
  }

  /** Whether this process serves the store. */
  get isServer(): boolean {
    return this.#server !== undefined;
  }

  /** The address at which this node and its workers reach the store. */
  get localEndpoint(): HostPort {
    const { host, port } = this.#options.endpoint;
    return { host: this.#server && !isLoopback(host) ? '127.0.0.1' : host, port };
  }

  /**
   * Waits until the endpoint's name resolves, and serves the store if this node must.
   *
   * @throws StoreTimeoutError if the name does not resolve in time.
   * @throws RingrunError `ERR_PORT_IN_USE` if this node must serve the store and cannot bind the port.
   */
  async serveIfLocal(): Promise<void> {
    const { servesStore } = this.#options;
    if (this.#server) return;
    if (servesStore === false) return;
    this.#isAtEndpoint = servesStore === true ? !(await this.#isServedElsewhere()) : await this.#isLocal();
    if (this.#isAtEndpoint) await this.#serve();
  }

  /**
   * Connects to the store; serves it again if it was lost and this node must serve it. Prints a line every few seconds.
   *
   * @throws StoreTimeoutError if no store accepts the connection in time.
   */
  async connect(): Promise<StoreClient> {
    for (;;) {
      await this.serveIfLocal();
      const client = await this.#connectUnlessLocal();
      if (client !== undefined) return client;
    }
  }

  /** Undefined if the endpoint's name resolves to this host meanwhile: before, it may have the address of a replaced pod. */
  async #connectUnlessLocal(): Promise<StoreClient | undefined> {
    const { joinTimeoutMs, answerTimeoutMs, log } = this.#options;
    const over = new AbortController();
    const { signal } = over;
    const times = { timeoutMs: joinTimeoutMs, callTimeoutMs: answerTimeoutMs };
    const connecting = openClient({ ...this.localEndpoint, ...times, log, signal });
    if (this.#options.servesStore !== undefined || this.#isAtEndpoint) return connecting;
    connecting.catch(() => undefined);
    try {
      return await Promise.race([connecting, this.#untilLocal(signal)]);
    } finally {
      over.abort();
    }
  }

  async #untilLocal(signal: AbortSignal): Promise<undefined> {
    do await sleep(lookEveryMs);
    while (!signal.aborted && (await isThisHost(this.#options.endpoint.host)) !== true);
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  async #serve(): Promise<void> {
    const { host, port } = this.#options.endpoint;
    // In a pod, MASTER_ADDR of the master may be localhost, while the other nodes use its service's name.
    const isForAll = !isLoopback(host) || process.env['KUBERNETES_SERVICE_HOST'] !== undefined;
    try {
      this.#server = await StoreServer.bind({ host: isForAll ? '*' : host, port });
      if (isForAll && jobSecret() === undefined) this.#options.log(noSecretWarning);
    } catch (error) {
      // Another node on this machine has bound the port.
      const isTaken = error instanceof RingrunError && error.code === 'ERR_PORT_IN_USE';
      if (!isTaken || this.#options.servesStore) throw error;
    }
  }

  /**
   * Whether another host already answers at the endpoint, although this node must serve the store: two nodes have rank
   * 0. This one joins the other store, where it is refused by name, instead of waiting alone in its own.
   */
  async #isServedElsewhere(): Promise<boolean> {
    const { endpoint } = this.#options;
    return (await isThisHost(endpoint.host)) === false && (await probe(endpoint)).kind === 'accepted';
  }

  /** Whether the endpoint is on this host. Waits until its name resolves. */
  async #isLocal(): Promise<boolean> {
    const { endpoint, joinTimeoutMs, log } = this.#options;
    const lines = new WaitReporter(undefined, log);
    const startedAt = performance.now();
    for (;;) {
      const isLocal = await isThisHost(endpoint.host);
      if (isLocal !== undefined) return isLocal;
      const what = `the store at ${formatHostPort(endpoint)}: the name ${endpoint.host} does not resolve`;
      if (performance.now() - startedAt >= joinTimeoutMs) {
        throw new StoreTimeoutError(
          [],
          `Waited ${formatDuration(joinTimeoutMs)} for ${what}. Check --rdzv-endpoint or --master-addr.`,
        );
      }
      lines.report(what, startedAt, joinTimeoutMs);
      await sleep(resolveEveryMs);
    }
  }
}
