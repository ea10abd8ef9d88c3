import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  broadcastOf,
  controlOf,
  helloOf,
  messageOf,
  purposes,
} from '../../../native/test/support/rank-by-hand.ts';
import { randomNumbers } from '../../support/random-numbers.ts';
import type { Call } from '../../../packages/rendezvous/src/store/wire.ts';
import type { Listener } from './listeners.ts';
import { mutate } from './mutate.ts';
import { changesJob, prefix, requestOf } from './zmtp.ts';

export interface FuzzerSettings {
  seed: number;
  /** The addresses of a store and of ranks. */
  stores: readonly Listener[];
  ranks: readonly Listener[];
  /** Greeting and frames of a real client of the store. */
  recorded: readonly Buffer[];
  /** False: the store accepts the calls of all processes. */
  hasSecret: boolean;
  /** Maximum processor time of this process, as a share of one processor. */
  share: number;
}

/** Connections at a time, those that wait in silence, and those that send byte after byte. */
const lanes = 24;
const maxSilent = 40;
const maxSlow = 16;
/** Milliseconds for the other side to close a connection whose input has ended. */
const patienceMs = 250;
const slowEveryMs = 20;

/**
 * Sends mutations of valid messages to the listeners of a job. The seed fixes the random numbers; their assignment to
 * connections also depends on when connections end.
 */
export class Fuzzer {
  /** Mutated messages, and the connections that carried them. */
  inputs = 0;
  connections = 0;
  readonly #settings: FuzzerSettings;
  readonly #random: () => number;
  readonly #messages: readonly Buffer[];
  readonly #silent: Socket[] = [];
  readonly #slow: { socket: Socket; left: Buffer }[] = [];

  constructor(settings: FuzzerSettings) {
    this.#settings = settings;
    this.#random = randomNumbers(settings.seed);
    this.#messages = [...settings.recorded, ...this.#requests(), ...this.#streamToRank()];
  }

  /**
   * Sends until a moment of `performance.now()`, or a number of inputs in all. Returns the number of connections per
   * second.
   */
  async run(until: number, { maxInputs = Infinity, maxPerSecond = Infinity } = {}): Promise<number> {
    const begin = { at: performance.now(), cpu: process.cpuUsage(), connections: this.connections };
    const elapsedMs = () => performance.now() - begin.at;
    const opened = () => this.connections - begin.connections;
    const isOver = () => performance.now() >= until || this.inputs >= maxInputs;
    const lane = async () => {
      while (!isOver()) {
        await this.#one();
        const { user, system } = process.cpuUsage(begin.cpu);
        const earliestMs = Math.max(
          (user + system) / 1000 / this.#settings.share,
          (opened() / maxPerSecond) * 1000,
        );
        if (earliestMs > elapsedMs()) await delay(earliestMs - elapsedMs());
      }
    };
    const drip = setInterval(() => {
      this.#sendSlowly();
    }, slowEveryMs);
    try {
      await Promise.all(Array.from({ length: lanes }, lane));
    } finally {
      clearInterval(drip);
    }
    return (opened() / elapsedMs()) * 1000;
  }

  /** Ends the connections that are still open. */
  close(): void {
    for (const socket of [...this.#silent, ...this.#slow.map((one) => one.socket)]) socket.destroy();
    this.#silent.length = 0;
    this.#slow.length = 0;
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[this.#below(items.length)];
  }

  async #one(): Promise<void> {
    const { stores, ranks } = this.#settings;
    const isStore = this.#random() < 0.5;
    const parts = isStore ? this.#streamToStore() : this.#mutated(this.#streamToRank());
    this.inputs += Math.max(parts.length, 1);
    this.connections += 1;
    const socket = connect(this.#pick(isStore ? stores : ranks));
    socket.on('error', () => undefined);
    await this.#deliver(socket, Buffer.concat(parts));
  }

  async #deliver(socket: Socket, bytes: Buffer): Promise<void> {
    const way = this.#random();
    if (way < 0.02) {
      this.#keep(socket, bytes);
      return;
    }
    if (way < 0.03) {
      this.#slow.push({ socket, left: bytes });
      while (this.#slow.length > maxSlow) this.#slow.shift()!.socket.destroy();
      return;
    }
    const closed = new Promise<void>((resolve) =>
      socket.once('close', () => {
        resolve();
      }),
    );
    if (way < 0.06) {
      // It closes without sending anything, with or without a reset.
      socket.once('connect', () => {
        if (way < 0.045) socket.resetAndDestroy();
        else socket.end();
      });
    } else if (way < 0.2) {
      const at = this.#below(bytes.length + 1);
      socket.setNoDelay();
      socket.write(bytes.subarray(0, at));
      setImmediate(() => socket.end(bytes.subarray(at)));
    } else if (way < 0.35) {
      // It echoes the received bytes, such as the proof of the other side.
      let sent = 0;
      socket.on('data', (received) => {
        sent += received.length;
        if (sent < 1024) socket.write(received);
        else socket.end();
      });
      socket.write(bytes);
      setTimeout(() => socket.end(), 20);
    } else if (way < 0.5) {
      socket.write(bytes, () => socket.resetAndDestroy());
    } else {
      socket.end(bytes);
    }
    socket.resume();
    const limit = setTimeout(() => socket.destroy(), patienceMs);
    await closed;
    clearTimeout(limit);
  }

  /** A connection that sends the first bytes, if any, and then waits. */
  #keep(socket: Socket, bytes: Buffer): void {
    socket.write(bytes.subarray(0, this.#below(Math.min(bytes.length, 200))));
    socket.resume();
    this.#silent.push(socket);
    while (this.#silent.length > maxSilent) this.#silent.shift()!.destroy();
  }

  #sendSlowly(): void {
    for (const one of this.#slow) {
      one.socket.resume().write(one.left.subarray(0, 1));
      one.left = one.left.subarray(1);
      if (one.left.length === 0) one.socket.end();
    }
  }

  #mutated(parts: readonly Buffer[]): Buffer[] {
    return mutate(parts, { random: this.#random, others: this.#messages });
  }

  #streamToStore(): Buffer[] {
    const { recorded, hasSecret } = this.#settings;
    const [greeting, ...frames] = recorded;
    // A server that receives another greeting may parse the following bytes as other frames, so no calls follow.
    if (this.#random() < 0.2) return [...this.#mutated([greeting]), ...(hasSecret ? frames : [])];
    const parts = hasSecret ? frames : [frames[0], ...this.#requests()];
    for (;;) {
      const changed = [greeting, ...this.#mutated(parts)];
      if (hasSecret || !changesJob(Buffer.concat(changed))) return changed;
    }
  }

  /** Some calls that change keys of strangers only. */
  #requests(): Buffer[] {
    const key = `${prefix}${this.#below(50)}`;
    const keys = [key, `${prefix}none`];
    const value = Buffer.alloc(this.#below(300), key);
    const timeoutMs = this.#below(50);
    const calls: Call[] = [
      { op: 'ping' },
      { op: 'set', key, value },
      { op: 'get', key, timeoutMs },
      { op: 'add', key: `${key}/count`, amount: this.#below(1000) - 500 },
      { op: 'wait', keys, timeoutMs },
      { op: 'waitNumbered', prefix, timeoutMs, count: this.#below(100) },
      { op: 'check', keys },
      { op: 'compareSet', key, expected: value, desired: value },
      { op: 'deleteKey', key },
      { op: 'deletePrefix', prefix },
      { op: 'numKeys' },
      { op: 'multiGet', keys, timeoutMs },
      { op: 'multiSet', keys, values: [value, value] },
      { op: 'multiPeek', keys },
    ];
    const count = 1 + this.#below(6);
    return Array.from({ length: count }, (_, i) => requestOf(i + 1, this.#pick(calls))).flat();
  }

  /** Hello, a proof without the key, and messages of the connection. */
  #streamToRank(): Buffer[] {
    const nonce = this.#noise(32);
    const purpose = this.#pick(Object.values(purposes));
    const rank = this.#below(2);
    const hello = helloOf({ purpose, rank, listener: 1 - rank, protection: this.#below(2), nonce });
    const id = this.#below(100);
    const messages = {
      [purposes.control]: () => [controlOf(1, this.#noise(24)), controlOf(1 + this.#below(7))],
      [purposes.data]: () => [broadcastOf(this.#below(1000)), broadcastOf(this.#below(1000))],
      [purposes.pointToPoint]: () => [messageOf({ type: 1 + this.#below(5), id, count: this.#below(100) })],
    };
    return [hello, this.#noise(32), ...messages[purpose]()];
  }

  #noise(length: number): Buffer<ArrayBuffer> {
    return Buffer.from(Array.from({ length }, () => this.#below(256)));
  }
}
