import { randomFillSync } from 'node:crypto';

/** A server's record of one connected client. */
interface Client {
  /** Routing id of its connection, for replies. */
  connection: string;
  /** Largest id of its requests so far. */
  newestId: number;
  /** Bytes of all replies sent, and of those up to the last receipt. */
  sent: number;
  sentAtReceipt: number;
  /** Bytes of the replies that the client has proved to have read. */
  read: number;
  /**
   * Outstanding receipts in their order, with the bytes of all replies up to each. Undefined until the first one: most
   * clients read little, and an empty map is half of the memory of a client.
   */
  receipts: Map<number, number> | undefined;
  heardAt: number;
}

/** The parts of a request that concern its client. */
export interface Arrival {
  /** Routing id of its connection. */
  connection: string;
  id: number;
  receipt: number | undefined;
}

/** Bytes of replies between two receipts. */
export const receiptEveryBytes = 65_536;

/** Memory of a queued reply in addition to its bytes: ZeroMQ's messages and two small frames. */
const replyOverheadBytes = 256;

/**
 * Milliseconds without a request after which a client counts as disconnected, because ZeroMQ does not report
 * disconnections. Waiting clients send a ping every second, unless they compute.
 */
const silenceMs = 60_000;

/** Milliseconds between calls of `takeSilent`. Many short clients are forgotten soon after `silenceMs`. */
export const silenceCheckMs = silenceMs / 4;

/** The same for a client with many unread bytes: ZeroMQ may still queue them. */
const unreadSilenceMs = 600_000;

/**
 * Counts the bytes of replies that each client of a server has not read, without sockets and clocks. ZeroMQ queues
 * replies without limit and does not report their number. So some replies carry a random number, a receipt, which the
 * client repeats in later requests.
 */
export class Clients {
  readonly #clients = new Map<string, Client>();
  readonly #random = new Uint32Array(256);
  #nextRandom = this.#random.length;

  get size(): number {
    return this.#clients.size;
  }

  /**
   * A request arrived. Returns false if it must be ignored: it arrived on a connection that the client has replaced, as
   * its newer requests show, and the client counts it as lost.
   */
  heard(name: string, { connection, id, receipt }: Arrival, now: number): boolean {
    const client = this.#clients.get(name) ?? newClient(connection);
    this.#clients.set(name, client);
    if (client.connection !== connection && id <= client.newestId) return false;
    client.connection = connection;
    client.newestId = Math.max(client.newestId, id);
    client.heardAt = now;
    this.#takeReceipt(client, receipt);
    return true;
  }

  /** Routing id of the client's connection. Undefined if the client has been forgotten. */
  connectionOf(name: string): string | undefined {
    return this.#clients.get(name)?.connection;
  }

  #takeReceipt(client: Client, receipt: number | undefined): void {
    const { receipts } = client;
    const read = receipt === undefined ? undefined : receipts?.get(receipt);
    if (!receipts || read === undefined) return;
    client.read = read;
    for (const [earlier, sent] of receipts) if (sent <= read) receipts.delete(earlier);
  }

  /** Bytes of replies that the client may not have read. */
  unreadBytes(name: string): number {
    const client = this.#clients.get(name);
    return client ? client.sent - client.read : 0;
  }

  /** Counts a reply with `bytes` of values. Returns its receipt, if any. */
  replied(name: string, bytes: number): number | undefined {
    const client = this.#clients.get(name);
    if (!client) return undefined;
    client.sent += bytes + replyOverheadBytes;
    if (client.sent - client.sentAtReceipt < receiptEveryBytes) return undefined;
    client.sentAtReceipt = client.sent;
    client.receipts ??= new Map();
    const receipt = this.#newReceipt(client.receipts);
    client.receipts.set(receipt, client.sent);
    return receipt;
  }

  /** Returns the clients that count as disconnected, and forgets those without queued replies. */
  takeSilent(now: number): string[] {
    const names: string[] = [];
    for (const [name, client] of this.#clients) {
      const silentMs = now - client.heardAt;
      if (silentMs < silenceMs) continue;
      names.push(name);
      if (client.sent - client.read < 2 * receiptEveryBytes || silentMs >= unreadSilenceMs)
        this.#clients.delete(name);
    }
    return names;
  }

  #newReceipt(used: ReadonlyMap<number, number>): number {
    for (;;) {
      if (this.#nextRandom === this.#random.length) {
        randomFillSync(this.#random);
        this.#nextRandom = 0;
      }
      const receipt = this.#random[this.#nextRandom++];
      if (receipt !== 0 && !used.has(receipt)) return receipt;
    }
  }
}

function newClient(connection: string): Client {
  return {
    connection,
    newestId: 0,
    sent: 0,
    sentAtReceipt: 0,
    read: 0,
    receipts: undefined,
    heardAt: 0,
  };
}
