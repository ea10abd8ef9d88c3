import { setTimeout as sleep } from 'node:timers/promises';
import { RingrunError, StoreTimeoutError } from '@ringrun/collectives';
import { formatHostPort, isLoopback } from '../store/endpoint.ts';
import type { HostPort } from '../store/endpoint.ts';
import { StoreServer, connectStore } from '../store/index.ts';
import { probe } from '../store/reachability.ts';
import type { StoreClient } from '../store/index.ts';
import { WaitingLines, formatDuration } from '../store/waiting-lines.ts';
import { isThisHost } from './this-host.ts';

export interface MeetingPlaceOptions {
  /** Where the job's store is, as all nodes name it. */
  readonly endpoint: HostPort;
  /** Whether this node hosts it; undefined: it does where the endpoint's name is one of its own, and no other process is faster. */
  readonly isHost: boolean | undefined;
  /** Milliseconds that a store, or a name, may take to appear. */
  readonly joinTimeoutMs: number;
  /** Milliseconds for one answer. */
  readonly answerTimeoutMs: number;
  readonly log: (line: string) => void;
}

/** Milliseconds between two tries to resolve the endpoint's name. */
const resolveEveryMs = 500;

/** Where the nodes of a job meet: the store at the endpoint, hosted by one of them. */
export class MeetingPlace {
  readonly #options: MeetingPlaceOptions;
  #server: StoreServer | undefined;

  constructor(options: MeetingPlaceOptions) {
    this.#options = options;
  }

  get endpoint(): HostPort {
    return this.#options.endpoint;
  }

  /** Whether this process hosts the store: then nobody else loses it. */
  get isHosted(): boolean {
    return this.#server !== undefined;
  }

  /** Where this node and its workers reach the store. */
  get reachedAt(): HostPort {
    const { host, port } = this.#options.endpoint;
    return { host: this.#server && !isLoopback(host) ? '127.0.0.1' : host, port };
  }

  /**
   * Resolves when the endpoint's name does, patiently, and hosts the store if that is for this node to do.
   *
   * @throws StoreTimeoutError when the name never resolves; RingrunError `ERR_PORT_IN_USE` when this node has to host the store and cannot.
   */
  async arrive(): Promise<void> {
    const { isHost } = this.#options;
    if (this.#server) return;
    if (isHost === false) return;
    const isHere = isHost === true ? !(await this.#isHostedElsewhere()) : await this.#isHere();
    if (isHere) await this.#host();
  }

  /**
   * Connects, and hosts the store again where that is lost and for this node to do; patiently, with a line every few seconds.
   *
   * @throws StoreTimeoutError when nobody appears.
   */
  async connect(): Promise<StoreClient> {
    await this.arrive();
    const { joinTimeoutMs, answerTimeoutMs, log } = this.#options;
    const times = { timeoutMs: joinTimeoutMs, callTimeoutMs: answerTimeoutMs };
    return connectStore({ ...this.reachedAt, ...times, log });
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }

  async #host(): Promise<void> {
    const { host, port } = this.#options.endpoint;
    // In a pod the master may know itself as localhost, while the others know it by its service's name.
    const isForAll = !isLoopback(host) || process.env['KUBERNETES_SERVICE_HOST'] !== undefined;
    try {
      this.#server = await StoreServer.bind({ host: isForAll ? '*' : host, port });
    } catch (error) {
      // Another node of this machine was faster.
      const isTaken = error instanceof RingrunError && error.code === 'ERR_PORT_IN_USE';
      if (!isTaken || this.#options.isHost) throw error;
    }
  }

  /**
   * Whether another host answers at the endpoint already, although this node is to host the store: two were given the rank 0. This one would wait alone in a store of its
   * own; among the others it is refused by name.
   */
  async #isHostedElsewhere(): Promise<boolean> {
    const { endpoint } = this.#options;
    return (await isThisHost(endpoint.host)) === false && (await probe(endpoint)).kind === 'accepted';
  }

  /** Whether the endpoint is on this host: a matter of patience, where its name does not resolve yet. */
  async #isHere(): Promise<boolean> {
    const { endpoint, joinTimeoutMs, log } = this.#options;
    const lines = new WaitingLines(undefined, log);
    const startedAt = performance.now();
    for (;;) {
      const isHere = await isThisHost(endpoint.host);
      if (isHere !== undefined) return isHere;
      const what = `the store at ${formatHostPort(endpoint)}: the name ${endpoint.host} does not resolve`;
      if (performance.now() - startedAt >= joinTimeoutMs) {
        throw new StoreTimeoutError(
          [],
          `Waited ${formatDuration(joinTimeoutMs)} for ${what}. Check --rdzv-endpoint or --master-addr.`,
        );
      }
      lines.say(what, startedAt, joinTimeoutMs);
      await sleep(resolveEveryMs);
    }
  }
}
