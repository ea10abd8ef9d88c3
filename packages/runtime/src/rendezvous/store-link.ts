import { RingrunError, StoreTimeoutError } from '@ringrun/collectives';
import type { StoreClient } from '../store/index.ts';
import type { MeetingPlace } from './meeting-place.ts';
import { decodeState, encodeState } from './state.ts';
import type { RendezvousState } from './state.ts';

const stateKey = 'rendezvous/state';
const changedKey = (version: number) => `rendezvous/changed/${version}`;
const aliveKey = (id: string) => `rendezvous/alive/${id}`;

/**
 * Milliseconds until the state is read without a notification: a node may die between a change and its notification.
 */
const lookAgainMs = 1000;

/** Notification keys kept in the store, for nodes that are about to wait for them. */
const marksLeft = 8;

/** Never equal to a state, so that `compareSet` with it only reads. */
const nothingEqual = '-';

/** The state as read from the store. */
export interface Seen {
  readonly bytes: Uint8Array;
  /** Undefined if no node has written a state. */
  readonly state: RendezvousState | undefined;
}

/** One connection to the store of the job, with the operations on the state and the heartbeats. */
export class StoreLink {
  readonly #client: StoreClient;

  private constructor(client: StoreClient) {
    this.#client = client;
  }

  static async open(place: MeetingPlace): Promise<StoreLink> {
    return new StoreLink(await place.connect());
  }

  async read(): Promise<Seen> {
    return seen(await this.#client.compareSet(stateKey, nothingEqual, nothingEqual));
  }

  /** Replaces `expected` by `next` if the store still contains `expected`. Resolves with the state in the store. */
  async replace(expected: Uint8Array, next: RendezvousState): Promise<Seen> {
    const there = seen(await this.#client.compareSet(stateKey, expected, encodeState(next)));
    if (isSame(there.state, next)) await this.#tellChange(next.version);
    return there;
  }

  /** Resolves when the state may have changed since `version`, or after one second. */
  async changeAfter(version: number): Promise<void> {
    try {
      await this.#client.wait([changedKey(version + 1)], { timeoutMs: lookAgainMs });
    } catch (error) {
      if (!(error instanceof StoreTimeoutError)) throw error;
    }
  }

  /** Sends a heartbeat. */
  async renew(id: string): Promise<void> {
    await this.#client.add(aliveKey(id), 1);
  }

  /** Reads the heartbeat counters; 0 for a node without heartbeats. */
  async readSigns(ids: readonly string[]): Promise<Map<string, number>> {
    const counts = await Promise.all(ids.map((id) => this.#client.add(aliveKey(id), 0)));
    return new Map(ids.map((id, place) => [id, counts[place]]));
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #tellChange(version: number): Promise<void> {
    await this.#client.set(changedKey(version), '');
    if (version > marksLeft) await this.#client.deleteKey(changedKey(version - marksLeft));
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

function seen(bytes: Uint8Array): Seen {
  return { bytes, state: decodeState(bytes) };
}
