import { createHash } from 'node:crypto';
import { isSameList } from '@ringrun/core';
import { waitedBytes } from './call-refusal.ts';
import { Deadlines } from './deadlines.ts';
import type { Timed } from './deadlines.ts';
import { keysOf } from './errors.ts';
import type { Call } from './wire.ts';

export type WaitingCall = Extract<Call, { timeoutMs: number }>;

/** A call that waits for missing keys. */
export interface Waiter extends Timed {
  readonly client: string;
  readonly id: number;
  readonly call: WaitingCall;
  /** Waiters are woken in the order of their arrival. */
  readonly order: number;
  readonly keySet: KeySet;
}

/** The keys of one or many waiters: ranks that join wait for the same keys, so each new key is counted once for all. */
export interface KeySet {
  readonly name: string;
  readonly keys: readonly string[];
  /** Those of `keys` that do not exist. */
  readonly missing: Set<string>;
  readonly waiters: Set<Waiter>;
  /** Memory of the keys. Counted for each waiter. */
  readonly bytes: number;
}

interface ClientWaits {
  readonly waiters: Set<Waiter>;
  bytes: number;
}

const noWaits: ClientWaits = { waiters: new Set(), bytes: 0 };

/**
 * The waiters of a store, indexed by key, client and deadline. A key that appears or is deleted costs one step for each
 * distinct set of keys that contains it, not for each waiter.
 */
export class Waits {
  readonly #exists: (key: string) => boolean;
  readonly #keySets = new Map<string, KeySet>();
  readonly #keySetsByKey = new Map<string, Set<KeySet>>();
  readonly #clients = new Map<string, ClientWaits>();
  readonly #deadlines = new Deadlines<Waiter>();
  /** Ranks that join wait for the same keys one after the other, and comparing is faster than hashing. */
  #latest: KeySet | undefined;
  #count = 0;

  constructor(exists: (key: string) => boolean) {
    this.#exists = exists;
  }

  /** Number of calls that a client waits in, and the bytes of their keys. */
  of(client: string): Readonly<ClientWaits> {
    return this.#clients.get(client) ?? noWaits;
  }

  /** The waiter of a call with missing keys. Undefined if every key exists. */
  begin(client: string, id: number, call: WaitingCall, now: number): Waiter | undefined {
    const keySet = this.#keySetOf(call);
    if (!keySet) return undefined;
    const waiter: Waiter = {
      client,
      id,
      call,
      order: this.#count++,
      keySet,
      deadline: now + call.timeoutMs,
      position: 0,
    };
    keySet.waiters.add(waiter);
    this.#deadlines.add(waiter);
    const waits = this.#clients.get(client) ?? { waiters: new Set(), bytes: 0 };
    this.#clients.set(client, waits);
    waits.waiters.add(waiter);
    waits.bytes += keySet.bytes;
    return waiter;
  }

  end(waiter: Waiter): void {
    const { keySet } = waiter;
    this.#deadlines.remove(waiter);
    const waits = this.#clients.get(waiter.client)!;
    waits.waiters.delete(waiter);
    waits.bytes -= keySet.bytes;
    if (waits.waiters.size === 0) this.#clients.delete(waiter.client);
    keySet.waiters.delete(waiter);
    if (keySet.waiters.size === 0) this.#drop(keySet);
  }

  /** A key appeared: ends the waiters that have all their keys now, and returns them. */
  appeared(key: string): Waiter[] {
    const woken: Waiter[] = [];
    for (const keySet of this.#change(key, (missing) => missing.delete(key)))
      if (keySet.missing.size === 0) woken.push(...keySet.waiters);
    woken.sort((a, b) => a.order - b.order);
    for (const waiter of woken) this.end(waiter);
    return woken;
  }

  /** A key was deleted. */
  disappeared(key: string): void {
    this.#change(key, (missing) => missing.add(key));
  }

  /** Time of the next timeout. `Infinity` without waiters. */
  nextDeadline(): number {
    return this.#deadlines.first()?.deadline ?? Infinity;
  }

  /** Ends the waiter with the earliest timeout and returns it, if that timeout is over. */
  nextOverdue(now: number): Waiter | undefined {
    const first = this.#deadlines.first();
    if (!first || first.deadline > now) return undefined;
    this.end(first);
    return first;
  }

  #keySetOf(call: WaitingCall): KeySet | undefined {
    const latest = this.#latest;
    if (latest && (call.op === 'wait' || call.op === 'multiGet') && isSameList(call.keys, latest.keys))
      return latest;
    const name = nameOf(call);
    const known = this.#keySets.get(name);
    if (known) return (this.#latest = known);
    const keys = keysOf(call);
    const missing = new Set(keys.filter((key) => !this.#exists(key)));
    if (missing.size === 0) return undefined;
    const keySet: KeySet = { name, keys, missing, waiters: new Set(), bytes: waitedBytes(call) };
    this.#keySets.set(name, keySet);
    this.#latest = keySet;
    for (const key of keys) {
      const keySets = this.#keySetsByKey.get(key);
      if (keySets) keySets.add(keySet);
      else this.#keySetsByKey.set(key, new Set([keySet]));
    }
    return keySet;
  }

  #drop(keySet: KeySet): void {
    this.#keySets.delete(keySet.name);
    if (this.#latest === keySet) this.#latest = undefined;
    for (const key of keySet.keys) {
      const keySets = this.#keySetsByKey.get(key);
      keySets?.delete(keySet);
      if (keySets?.size === 0) this.#keySetsByKey.delete(key);
    }
  }

  /** Key sets with the key, after counting it. */
  #change(key: string, count: (missing: Set<string>) => void): readonly KeySet[] {
    const keySets = [...(this.#keySetsByKey.get(key) ?? [])];
    for (const { missing } of keySets) count(missing);
    return keySets;
  }
}

/** Equal for equal lists of keys. Long lists are hashed, because they would be kept as long strings. */
function nameOf(call: WaitingCall): string {
  if (call.op === 'waitNumbered') return `numbered ${call.count} ${call.prefix}`;
  const keys = keysOf(call);
  if (keys.length === 1) return `key ${keys[0]}`;
  return `keys ${createHash('sha256').update(JSON.stringify(keys)).digest('base64')}`;
}
