import type { Call, Reply, Request, Result } from './wire.ts';

/** A reply and the client that receives it. */
export interface AddressedReply {
  client: string;
  reply: Reply;
}

/** A `get` or `wait` with missing keys. */
interface Waiter {
  client: string;
  id: number;
  call: Extract<Call, { op: 'get' | 'wait' }>;
  keys: readonly string[];
  deadline: number;
}

/**
 * Keys and waiting clients of a store, without sockets and clocks: takes requests with their time of arrival
 * (milliseconds of a monotonic clock) and returns replies. Requests take effect in the order in which they are handled,
 * the same for every rank.
 */
export class KeyValueState {
  readonly #instance: string;
  readonly #values = new Map<string, Uint8Array>();
  readonly #waiters = new Set<Waiter>();
  /** Waiters by key, also for keys that exist: a key that is deleted is missing again. */
  readonly #waitersByKey = new Map<string, Set<Waiter>>();
  /** For pings, which every waiting client sends each second. */
  readonly #waitersByClient = new Map<string, Set<Waiter>>();

  /** @param instance Unique id of this run of the store. */
  constructor(instance: string) {
    this.#instance = instance;
  }

  /** Returns the reply to the request, unless it has to wait, and the replies to waiters that it wakes. */
  handle(client: string, request: Request, now: number): AddressedReply[] {
    const { id, call } = request;
    switch (call.op) {
      case 'ping':
        return [
          answer(client, id, { kind: 'pong', instance: this.#instance, parked: this.#parkedOf(client) }),
        ];
      case 'set':
        return [answer(client, id, { kind: 'done' }), ...this.#put(call.key, call.value)];
      case 'get':
        return this.#waitFor({ client, id, call, keys: [call.key], deadline: now + call.timeoutMs }, now);
      case 'wait':
        return this.#waitFor({ client, id, call, keys: call.keys, deadline: now + call.timeoutMs }, now);
      case 'add':
        return this.#add(client, id, call.key, call.amount);
      case 'check':
        return [answer(client, id, { kind: 'flag', yes: this.#missing(call.keys).length === 0 })];
      case 'compareSet':
        return this.#compareSet(client, id, call.key, call.expected, call.desired);
      case 'deleteKey':
        return [answer(client, id, { kind: 'flag', yes: this.#values.delete(call.key) })];
      case 'numKeys':
        return [answer(client, id, { kind: 'count', number: this.#values.size })];
    }
  }

  /** Time of the next timeout. `Infinity` without waiters. */
  nextDeadline(): number {
    let earliest = Infinity;
    for (const waiter of this.#waiters) earliest = Math.min(earliest, waiter.deadline);
    return earliest;
  }

  /** Replies to the waiters whose timeout is over. */
  expire(now: number): AddressedReply[] {
    return [...this.#waiters]
      .filter((waiter) => waiter.deadline <= now)
      .map((waiter) => this.#giveUp(waiter));
  }

  /** Keys that this client waits for. */
  missingOf(client: string): string[] {
    return [...new Set(this.#parkedOf(client).flatMap(({ missingKeys }) => missingKeys))];
  }

  #waitFor(waiter: Waiter, now: number): AddressedReply[] {
    if (this.#missing(waiter.keys).length === 0) return [this.#satisfied(waiter)];
    this.#park(waiter);
    return waiter.deadline <= now ? [this.#giveUp(waiter)] : [];
  }

  #put(key: string, value: Uint8Array): AddressedReply[] {
    // A copy: `value` is a view of a receive buffer of ZeroMQ (8 KiB) or of a chunk of a file.
    this.#values.set(key, new Uint8Array(value));
    const concerned = [...(this.#waitersByKey.get(key) ?? [])];
    return concerned
      .filter((waiter) => this.#missing(waiter.keys).length === 0)
      .map((waiter) => {
        this.#unpark(waiter);
        return this.#satisfied(waiter);
      });
  }

  #add(client: string, id: number, key: string, amount: number): AddressedReply[] {
    const text = this.#values.has(key) ? Buffer.from(this.#values.get(key)!).toString('utf8') : '0';
    const number = /^-?\d+$/.test(text) ? Number(text) + amount : NaN;
    if (!Number.isSafeInteger(number)) {
      const message =
        `add("${key}", ${amount}) failed: expected the key to hold an integer of at most 2^53 - 1 as decimal text, ` +
        `got ${JSON.stringify(text.slice(0, 80))}. Use another key, or call deleteKey("${key}") first.`;
      return [answer(client, id, { kind: 'failure', reason: 'INVALID', message, missingKeys: [] })];
    }
    const woken = this.#put(key, Buffer.from(String(number)));
    return [answer(client, id, { kind: 'count', number }), ...woken];
  }

  #compareSet(
    client: string,
    id: number,
    key: string,
    expected: Uint8Array,
    desired: Uint8Array,
  ): AddressedReply[] {
    const current = this.#values.get(key) ?? new Uint8Array();
    if (Buffer.compare(current, expected) !== 0)
      return [answer(client, id, { kind: 'value', bytes: current })];
    return [answer(client, id, { kind: 'value', bytes: desired }), ...this.#put(key, desired)];
  }

  #missing(keys: readonly string[]): string[] {
    return keys.filter((key) => !this.#values.has(key));
  }

  #parkedOf(client: string) {
    return [...(this.#waitersByClient.get(client) ?? [])].map((waiter) => ({
      id: waiter.id,
      missingKeys: this.#missing(waiter.keys),
    }));
  }

  #park(waiter: Waiter): void {
    this.#waiters.add(waiter);
    addTo(this.#waitersByClient, waiter.client, waiter);
    for (const key of waiter.keys) addTo(this.#waitersByKey, key, waiter);
  }

  #unpark(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    deleteFrom(this.#waitersByClient, waiter.client, waiter);
    for (const key of waiter.keys) deleteFrom(this.#waitersByKey, key, waiter);
  }

  #satisfied({ client, id, call }: Waiter): AddressedReply {
    if (call.op === 'wait') return answer(client, id, { kind: 'done' });
    return answer(client, id, { kind: 'value', bytes: this.#values.get(call.key)! });
  }

  #giveUp(waiter: Waiter): AddressedReply {
    this.#unpark(waiter);
    const missingKeys = this.#missing(waiter.keys);
    return answer(waiter.client, waiter.id, { kind: 'failure', reason: 'TIMEOUT', message: '', missingKeys });
  }
}

function addTo(index: Map<string, Set<Waiter>>, name: string, waiter: Waiter): void {
  const waiters = index.get(name);
  if (waiters) waiters.add(waiter);
  else index.set(name, new Set([waiter]));
}

function deleteFrom(index: Map<string, Set<Waiter>>, name: string, waiter: Waiter): void {
  const waiters = index.get(name);
  waiters?.delete(waiter);
  if (waiters?.size === 0) index.delete(name);
}

function answer(client: string, id: number, result: Result): AddressedReply {
  return { client, reply: { id, result } };
}
