import { quoted } from '@ringrun/core';
import { callRefusal, failure, replyRefusal, storedBytes } from './call-refusal.ts';
import { missingKeysInPong, storeLimits } from './limits.ts';
import type { StoreLimits } from './limits.ts';
import { Waits } from './waits.ts';
import type { Waiter, WaitingCall } from './waits.ts';
import type { Call, Parked, Reply, Request, Result } from './wire.ts';

/** A reply and the client that receives it. */
export interface AddressedReply {
  client: string;
  reply: Reply;
}

/**
 * Keys and waiting clients of a store, without sockets and clocks: accepts requests with their time of arrival
 * (milliseconds of a monotonic clock) and returns replies. Requests take effect in the order in which they are handled,
 * the same for every rank.
 */
export class KeyValueState {
  readonly #instance: string;
  readonly #limits: StoreLimits;
  readonly #values = new Map<string, Uint8Array>();
  #storedBytes = 0;
  readonly #waits: Waits;

  /**
   * @param instance Unique id of this run of the store.
   * @param limits Default: `storeLimits`.
   */
  constructor(instance: string, limits = storeLimits) {
    this.#instance = instance;
    this.#limits = limits;
    this.#waits = new Waits((key) => this.#values.has(key));
  }

  /** Returns the reply to the request, unless it must wait, and the replies to waiters that it wakes. */
  handle(client: string, request: Request, now: number): AddressedReply[] {
    const { id, call } = request;
    const refusal = callRefusal(call, this.#limits, {
      valueOf: (key) => this.#values.get(key),
      keys: this.#values.size,
      storedBytes: this.#storedBytes,
      waits: this.#waits.of(client),
    });
    if (refusal) return [answer(client, id, refusal)];
    switch (call.op) {
      case 'ping':
        return [
          answer(client, id, { kind: 'pong', instance: this.#instance, parked: this.#parkedOf(client) }),
        ];
      case 'set':
        return [answer(client, id, { kind: 'done' }), ...this.#put(call.key, call.value)];
      case 'get':
      case 'multiGet':
      case 'wait':
      case 'waitNumbered':
        return this.#waitFor(client, id, call, now);
      case 'add':
        return this.#add(client, id, call.key, call.amount);
      case 'check':
        return [answer(client, id, { kind: 'flag', yes: call.keys.every((key) => this.#values.has(key)) })];
      case 'compareSet':
        return this.#compareSet(client, id, call.key, call.expected, call.desired);
      case 'deleteKey':
        return [answer(client, id, { kind: 'flag', yes: this.#delete(call.key) })];
      case 'deletePrefix':
        return [answer(client, id, { kind: 'count', number: this.#deletePrefix(call.prefix) })];
      case 'numKeys':
        return [answer(client, id, { kind: 'count', number: this.#values.size })];
      case 'multiSet':
        return [answer(client, id, { kind: 'done' }), ...this.#putAll(call.keys, call.values)];
      case 'multiPeek':
        return [answer(client, id, this.#valuesOf(call))];
    }
  }

  /** Time of the next timeout. `Infinity` without waiters. */
  nextDeadline(): number {
    return this.#waits.nextDeadline();
  }

  /** Replies to the waiters whose timeout is over. */
  expire(now: number): AddressedReply[] {
    const replies: AddressedReply[] = [];
    for (let waiter = this.#waits.nextOverdue(now); waiter; waiter = this.#waits.nextOverdue(now))
      replies.push(this.#timedOut(waiter));
    return replies;
  }

  /** Drops the waits of a client that has left. */
  leave(client: string): void {
    for (const waiter of [...this.#waits.of(client).waiters]) this.#waits.end(waiter);
  }

  /** True if the client waits for keys. */
  isWaiting(client: string): boolean {
    return this.#waits.of(client).waiters.size > 0;
  }

  /** Keys that this client waits for. */
  missingOf(client: string): string[] {
    const { waiters } = this.#waits.of(client);
    return [...new Set([...waiters].flatMap(({ keySet }) => [...keySet.missing]))];
  }

  #waitFor(client: string, id: number, call: WaitingCall, now: number): AddressedReply[] {
    const waiter = this.#waits.begin(client, id, call, now);
    if (!waiter) return [this.#satisfied({ client, id, call })];
    if (waiter.deadline > now) return [];
    this.#waits.end(waiter);
    return [this.#timedOut(waiter)];
  }

  #put(key: string, value: Uint8Array): AddressedReply[] {
    const former = this.#values.get(key);
    // A copy: `value` is a view of a receive buffer of ZeroMQ (8 KiB) or of a chunk of a file.
    this.#values.set(key, new Uint8Array(value));
    this.#storedBytes += storedBytes(key, value) - (former ? storedBytes(key, former) : 0);
    return former ? [] : this.#waits.appeared(key).map((waiter) => this.#satisfied(waiter));
  }

  #putAll(keys: readonly string[], values: readonly Uint8Array[]): AddressedReply[] {
    const woken: AddressedReply[] = [];
    for (const [i, key] of keys.entries()) woken.push(...this.#put(key, values[i]));
    return woken;
  }

  #valuesOf(call: Extract<Call, { op: 'multiGet' | 'multiPeek' }>): Result {
    const missing: number[] = [];
    const values = call.keys.map((key, i) => {
      const value = this.#values.get(key);
      if (value === undefined) missing.push(i);
      return value ?? new Uint8Array();
    });
    return replyRefusal(call, values, this.#limits) ?? { kind: 'values', values, missing };
  }

  #delete(key: string): boolean {
    const former = this.#values.get(key);
    if (!former) return false;
    this.#values.delete(key);
    this.#storedBytes -= storedBytes(key, former);
    this.#waits.disappeared(key);
    return true;
  }

  #deletePrefix(prefix: string): number {
    const keys = [...this.#values.keys()].filter((key) => key.startsWith(prefix));
    for (const key of keys) this.#delete(key);
    return keys.length;
  }

  #add(client: string, id: number, key: string, amount: number): AddressedReply[] {
    const text = this.#values.has(key) ? Buffer.from(this.#values.get(key)!).toString('utf8') : '0';
    const number = /^-?\d+$/.test(text) ? Number(text) + amount : NaN;
    if (!Number.isSafeInteger(number)) {
      const message =
        `add(${quoted(key)}, ${amount}) failed: expected the key to hold an integer of at most 2^53 - 1 as decimal text, ` +
        `got ${quoted(text)}. Use another key, or call deleteKey(${quoted(key)}) first.`;
      return [answer(client, id, failure('INVALID', message))];
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

  #parkedOf(client: string): Parked[] {
    return [...this.#waits.of(client).waiters].map(({ id, keySet: { missing } }) => ({
      id,
      missingKeys: firstOf(missing, missingKeysInPong),
      missing: missing.size,
    }));
  }

  #satisfied({ client, id, call }: Pick<Waiter, 'client' | 'id' | 'call'>): AddressedReply {
    if (call.op === 'multiGet') return answer(client, id, this.#valuesOf(call));
    if (call.op !== 'get') return answer(client, id, { kind: 'done' });
    return answer(client, id, { kind: 'value', bytes: this.#values.get(call.key)! });
  }

  #timedOut(waiter: Waiter): AddressedReply {
    return answer(waiter.client, waiter.id, failure('TIMEOUT', '', [...waiter.keySet.missing]));
  }
}

function firstOf(items: ReadonlySet<string>, max: number): string[] {
  const first: string[] = [];
  for (const item of items) {
    if (first.length === max) break;
    first.push(item);
  }
  return first;
}

function answer(client: string, id: number, result: Result): AddressedReply {
  return { client, reply: { id, result } };
}
