import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import type { RendezvousStore } from './rendezvous-options.ts';
import { decodeState, encodeState } from './rendezvous-state.ts';
import type { RendezvousState } from './rendezvous-state.ts';

const stateKey = 'rendezvous/state';
const changedKey = (version: number) => `rendezvous/changed/${version}`;
const aliveKey = (id: string) => `rendezvous/alive/${id}`;

/**
 * Milliseconds until the state is read without a notification: a node may die between a change and its notification.
 */
const rereadAfterMs = 1000;

/** Notification keys kept in the store, for nodes that are about to wait for them. */
const keptNotifications = 8;

/** Never equal to a state, so that `compareSet` with it only reads. */
const nothingEqual = '-';

/** The state as read from the store. */
export interface StoredState {
  readonly bytes: Uint8Array;
  /** Undefined if no node has written a state. */
  readonly state: RendezvousState | undefined;
}

/** One connection to the store of the job, with the operations on the state and the heartbeats. */
export class RendezvousClient {
  readonly #client: Store;

  private constructor(client: Store) {
    this.#client = client;
  }

  static async open(store: RendezvousStore): Promise<RendezvousClient> {
    return new RendezvousClient(await store.connect());
  }

  /** The store, until `close`. */
  get store(): Store {
    return this.#client;
  }

  async read(): Promise<StoredState> {
    return stored(await this.#client.compareSet(stateKey, nothingEqual, nothingEqual));
  }

  /** Replaces `expected` by `next` if the store still contains `expected`. Resolves with the state in the store. */
  async replace(expected: Uint8Array, next: RendezvousState): Promise<StoredState> {
    const current = stored(await this.#client.compareSet(stateKey, expected, encodeState(next)));
    if (isSame(current.state, next)) await this.#notifyChange(next.version);
    return current;
  }

  /** Resolves when the state may have changed since `version`, or after one second. */
  async waitForChange(version: number): Promise<void> {
    try {
      await this.#client.wait([changedKey(version + 1)], { timeoutMs: rereadAfterMs });
    } catch (error) {
      if (!(error instanceof StoreTimeoutError)) throw error;
    }
  }

  /** Sends a heartbeat. */
  async sendHeartbeat(id: string): Promise<void> {
    await this.#client.add(aliveKey(id), 1);
  }

  /** Reads the heartbeat counters; 0 for a node without heartbeats. */
  async readHeartbeats(ids: readonly string[]): Promise<Map<string, number>> {
    const counts = await Promise.all(ids.map((id) => this.#client.add(aliveKey(id), 0)));
    return new Map(ids.map((id, index) => [id, counts[index]]));
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #notifyChange(version: number): Promise<void> {
    await this.#client.set(changedKey(version), '');
    if (version > keptNotifications) await this.#client.deleteKey(changedKey(version - keptNotifications));
  }
}

/** Whether the store has ended or was replaced, with all its data. Other errors are interruptions of the connection. */
export function isLost(error: unknown): boolean {
  return error instanceof RingrunError && error.code === 'ERR_STORE_LOST';
}

/** Whether a retry cannot succeed. */
export function isFatal(error: unknown): boolean {
  if (error instanceof StoreTimeoutError) return false;
  return (
    !(error instanceof RingrunError) || !['ERR_STORE_LOST', 'ERR_STORE_INTERRUPTED'].includes(error.code)
  );
}

export function isSame(one: RendezvousState | undefined, other: RendezvousState | undefined): boolean {
  return one !== undefined && encodeState(one) === (other && encodeState(other));
}

function stored(bytes: Uint8Array): StoredState {
  return { bytes, state: decodeState(bytes) };
}
