import { RingrunError, StoreTimeoutError } from '@ringrun/collectives';
import type { StoreClient } from '../store/index.ts';
import type { MeetingPlace } from './meeting-place.ts';
import { decodeState, encodeState } from './state.ts';
import type { RendezvousState } from './state.ts';

const stateKey = 'rendezvous/state';
const changedKey = (version: number) => `rendezvous/changed/${version}`;
const aliveKey = (id: string) => `rendezvous/alive/${id}`;

/** Milliseconds until the state is read again although nobody has said that it changed: whoever changed it may have died before it said so. */
const lookAgainMs = 1000;

/** Marks of changes that are left in the store, for nodes that are about to wait for them. */
const marksLeft = 8;

/** A text that the state never is: comparing with it reads. */
const nothingEqual = '-';

/** What is in the store, as it was read. */
export interface Seen {
  readonly bytes: Uint8Array;
  /** Undefined where nobody has begun. */
  readonly state: RendezvousState | undefined;
}

/** One connection to the store of the job, and what is said over it. */
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

  /** Puts `next` in the place of `expected`, if that is still there; resolves with what is there afterwards. */
  async replace(expected: Uint8Array, next: RendezvousState): Promise<Seen> {
    const there = seen(await this.#client.compareSet(stateKey, expected, encodeState(next)));
    if (isSame(there.state, next)) await this.#tellChange(next.version);
    return there;
  }

  /** Resolves when a state after `version` may be there, after a second at the latest. */
  async changeAfter(version: number): Promise<void> {
    try {
      await this.#client.wait([changedKey(version + 1)], { timeoutMs: lookAgainMs });
    } catch (error) {
      if (!(error instanceof StoreTimeoutError)) throw error;
    }
  }

  /** A sign of life. */
  async renew(id: string): Promise<void> {
    await this.#client.add(aliveKey(id), 1);
  }

  /** The counters of signs of life; of a node that has never given one, 0. */
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

/** Whether the store has ended or been replaced, with all that was in it: the others are interruptions. */
export function isLost(error: unknown): boolean {
  return error instanceof RingrunError && error.code === 'ERR_STORE_LOST';
}

/** Whether it is of no use to try again. */
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
