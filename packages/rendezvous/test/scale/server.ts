import { KeyValueState } from '../../src/store/key-value-state.ts';
import type { AddressedReply } from '../../src/store/key-value-state.ts';
import { encodeReply, encodeRequest, protocolName } from '../../src/store/wire.ts';
import type { Request, Result } from '../../src/store/wire.ts';
import type { SimulatedTime } from '../rounds/simulation/time.ts';

/** Costs of the messages between the nodes and the store. */
export interface Network {
  /** Milliseconds of a message on its way. */
  readonly delayMs: number;
  /** Milliseconds of the server's thread for each message, received or sent. */
  readonly messageMs: number;
  /** Milliseconds for each byte: the thread's copies, and the link of the server's host. */
  readonly byteMs: number;
}

/**
 * Measured with 50 calls under way from one client (Intel Xeon, 2026-11-28): 60 µs of the server's thread for an `add` and its
 * reply, and 1 ns for each byte. The link has 10 Gbit/s and a round trip of 0.5 ms.
 */
export const dataCenter: Network = { delayMs: 0.25, messageMs: 0.03, byteMs: 1e-6 + 0.8e-6 };

/** Messages that the server has received and sent, and their bytes without headers of ZeroMQ, TCP and IP. */
export interface Traffic {
  readonly messages: number;
  readonly bytes: number;
  /** Milliseconds for which its thread was busy. */
  readonly busyMs: number;
}

/** Receives the replies of one client. */
export interface Receiver {
  onReply(id: number, result: Result): void;
}

/** The real state of a store behind a simulated thread, which handles one message after the other. */
export class SimulatedServer {
  isUp = true;
  readonly instance: string;
  readonly #time: SimulatedTime;
  readonly #network: Network;
  readonly #state: KeyValueState;
  readonly #receivers = new Map<string, Receiver>();
  #arrived: { client: string; request: Request; bytes: number }[] = [];
  #next = 0;
  #isBusy = false;
  #busyUntil = 0;
  #alarmAt = Infinity;
  #messages = 0;
  #bytes = 0;

  constructor(time: SimulatedTime, network: Network, instance: string) {
    this.#time = time;
    this.#network = network;
    this.instance = instance;
    this.#state = new KeyValueState(instance);
  }

  get traffic(): Traffic {
    const { messageMs, byteMs } = this.#network;
    const [messages, bytes] = [this.#messages, this.#bytes];
    return { messages, bytes, busyMs: messages * messageMs + bytes * byteMs };
  }

  connect(client: string, receiver: Receiver): void {
    this.#receivers.set(client, receiver);
  }

  /** The server forgets a client that has been silent for long. */
  disconnect(client: string): void {
    this.#receivers.delete(client);
    this.#state.leave(client);
  }

  /** @param extraMs delay of the client's own link */
  send(client: string, request: Request, extraMs: number): void {
    const bytes = protocolName.length + encodeRequest(request).length;
    this.#time.agenda.after(this.#network.delayMs + extraMs, () => {
      if (!this.isUp) return;
      this.#arrived.push({ client, request, bytes });
      this.#work();
    });
  }

  #work(): void {
    if (this.#isBusy || this.#next === this.#arrived.length) return;
    const { client, request, bytes } = this.#arrived[this.#next++];
    if (this.#next > 1000) {
      this.#arrived = this.#arrived.slice(this.#next);
      this.#next = 0;
    }
    this.#isBusy = true;
    this.#spend(bytes);
    this.#time.agenda.after(this.#busyUntil - this.#time.now, () => {
      this.#isBusy = false;
      if (!this.isUp) return;
      this.#reply(this.#state.handle(client, request, this.#time.now));
      this.#arm();
      this.#work();
    });
  }

  #spend(bytes: number): void {
    const { messageMs, byteMs } = this.#network;
    this.#messages += 1;
    this.#bytes += bytes;
    this.#busyUntil = Math.max(this.#busyUntil, this.#time.now) + messageMs + bytes * byteMs;
  }

  #reply(replies: readonly AddressedReply[]): void {
    for (const { client, reply } of replies) {
      const receiver = this.#receivers.get(client);
      if (!receiver) continue;
      this.#spend(protocolName.length + encodeReply(reply).length);
      this.#time.agenda.after(this.#busyUntil - this.#time.now + this.#network.delayMs, () => {
        receiver.onReply(reply.id, reply.result);
      });
    }
  }

  #arm(): void {
    const at = this.#state.nextDeadline();
    if (at >= this.#alarmAt) return;
    this.#alarmAt = at;
    this.#time.agenda.after(at - this.#time.now, () => {
      if (this.#alarmAt !== at || !this.isUp) return;
      this.#alarmAt = Infinity;
      this.#reply(this.#state.expire(this.#time.now));
      this.#arm();
    });
  }
}
