import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Store } from '@ringrun/core';
import { deletePrefix } from '../store/delete-prefix.ts';
import { multiPeek, peekAll } from '../store/peek.ts';
import type { Delivery } from './coordinator.ts';
import type { NodeFacts } from './facts.ts';
import type { RendezvousState } from './rendezvous-state.ts';
import type { RendezvousStore } from './rendezvous-options.ts';

/** Number of messages to the leader so far. */
const inboxKey = 'rendezvous/inbox';
/** Messages in blocks, which the leader deletes as a whole. */
export const blockSize = 64;
const blockPrefix = (block: number) => `${inboxKey}/${block}/`;
const messageKey = (number: number) => `${blockPrefix(Math.floor(number / blockSize))}${number % blockSize}`;
const partPrefix = (id: string) => `rendezvous/part/${id}/`;
const partKey = (id: string, serial: number) => `${partPrefix(id)}${serial}`;
const incarnationKey = 'rendezvous/incarnation';
const aliveKey = (id: string) => `rendezvous/alive/${id}`;

/** Characters of the parts in one message, without its last part. A message must fit into a frame. */
const partsLength = 2 ** 18;

/** Milliseconds of one call that waits. Shorter than the pings of a waiting connection, and than its first line about a wait. */
export const waitMs = 980;

/**
 * Milliseconds of one such call of a node that waits for its part. In a large job they are longer, so that all nodes together
 * make at most 1000 of them in a second. A part that is written ends the call at once.
 */
function waitForPartMs(nodes: number): number {
  return Math.min(Math.max(waitMs, nodes), 10_000);
}

/** A store whose connection can do without the pings of waiting calls. A user's store need not. */
interface QuietStore {
  /** Sends no pings for so long after an answer of the store. */
  keepQuiet(forMs: number): void;
}

/**
 * One connection to the store of the job. The node that serves the store, the leader, reads messages of the other nodes, and
 * writes for each of them the part of the state that concerns it.
 */
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

  // --- Every other node.

  /** Sends the facts of a node to the leader. */
  async post(facts: NodeFacts): Promise<void> {
    const number = await this.#client.add(inboxKey, 1);
    await this.#client.set(messageKey(number), JSON.stringify(facts));
  }

  /**
   * The newest part of a node and its serial number, at least `serial`; the first has 1. Undefined if the leader has not
   * written it within a second, or longer in a job of very many nodes.
   */
  async readPart(
    id: string,
    serial: number,
    nodes: number,
  ): Promise<{ serial: number; state: RendezvousState } | undefined> {
    const withinMs = waitForPartMs(nodes);
    const client: Store & Partial<QuietStore> = this.#client;
    client.keepQuiet?.(withinMs > waitMs ? withinMs : 0);
    let text = await this.#soon(partKey(id, serial), withinMs);
    if (text === undefined) return undefined;
    let newest = serial;
    for (;;) {
      // An older part may assign a rank to a node that was cut off, and that another node has now.
      const [next] = await multiPeek(this.#client, [partKey(id, newest + 1)]);
      if (next === undefined) break;
      text = Buffer.from(next).toString('utf8');
      newest += 1;
    }
    // Not before: after an error, they are read again.
    for (let number = serial; number <= newest; number += 1)
      this.#client.deleteKey(partKey(id, number)).catch(() => undefined);
    return { serial: newest, state: JSON.parse(text) as RendezvousState };
  }

  /** The incarnation of the state. Undefined if the leader has not written it within a second. */
  async readIncarnation(): Promise<string | undefined> {
    return await this.#soon(incarnationKey);
  }

  // --- The leader.

  async writeIncarnation(incarnation: string): Promise<void> {
    await this.#client.set(incarnationKey, incarnation);
  }

  /** Writes the parts of many nodes, in as few messages as possible. */
  async writeParts(parts: readonly Delivery[]): Promise<void> {
    const written: Promise<void>[] = [];
    let [keys, texts, length]: [string[], string[], number] = [[], [], 0];
    for (const [index, { id, serial, state }] of parts.entries()) {
      const text = JSON.stringify(state);
      keys.push(partKey(id, serial));
      texts.push(text);
      length += text.length;
      if (length < partsLength && index < parts.length - 1) continue;
      written.push(this.#client.multiSet(keys, texts));
      [keys, texts, length] = [[], [], 0];
    }
    await Promise.all(written);
  }

  /** Waits until the message with this number is there, at most `ms`. */
  async awaitMessage(number: number, ms: number): Promise<void> {
    await this.#soon(messageKey(number), ms);
  }

  /** The number of the last message, which may still be on its way. */
  async lastMessage(): Promise<number> {
    return await this.#client.add(inboxKey, 0);
  }

  /** The messages with these numbers. Undefined for one that is not there yet. */
  async readMessages(numbers: readonly number[]): Promise<(NodeFacts | undefined)[]> {
    const texts = await peekAll(this.#client, numbers.map(messageKey));
    return texts.map((text) => (text === undefined ? undefined : (JSON.parse(text) as NodeFacts)));
  }

  /** Deletes the messages in a block of `blockSize` numbers. */
  async deleteBlock(block: number): Promise<void> {
    await deletePrefix(this.#client, blockPrefix(block));
  }

  /** Deletes the keys of a node that has ended. */
  async forgetNode(id: string): Promise<void> {
    await deletePrefix(this.#client, partPrefix(id));
    await this.#client.deleteKey(aliveKey(id));
  }

  // --- Heartbeats.

  /** Sends a heartbeat. */
  async sendHeartbeat(id: string): Promise<void> {
    await this.#client.add(aliveKey(id), 1);
  }

  /** Reads the heartbeat counters; 0 for a node without heartbeats. */
  async readHeartbeats(ids: readonly string[]): Promise<Map<string, number>> {
    const counts = await peekAll(this.#client, ids.map(aliveKey));
    return new Map(ids.map((id, index) => [id, Number(counts[index] ?? 0)]));
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #soon(key: string, timeoutMs = waitMs): Promise<string | undefined> {
    try {
      return Buffer.from(await this.#client.get(key, { timeoutMs })).toString('utf8');
    } catch (error) {
      // Without keys: the store has not answered.
      if (error instanceof StoreTimeoutError && error.missingKeys.length > 0) return undefined;
      throw error;
    }
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
