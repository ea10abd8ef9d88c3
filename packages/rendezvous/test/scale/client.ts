import { RingrunError, StoreTimeoutError } from '@ringrun/core';
import type { Clock } from '../../src/clock.ts';
import { CallingStore } from '../../src/store/calling-store.ts';
import type { Success } from '../../src/store/calling-store.ts';
import type { Call, Result } from '../../src/store/wire.ts';
import type { Receiver, SimulatedServer } from './server.ts';

/** As the real connection: while calls are pending, it pings every second, and gives a call up one second too late. */
const tickMs = 1000;
const graceMs = 1000;

/** The process of a client. */
export interface Host {
  readonly clock: Clock;
  /** Whether its code runs. */
  runs(): boolean;
  /** Milliseconds by which its messages are late, in each direction. */
  readonly lagMs: number;
}

interface Pending {
  readonly untilMs: number;
  readonly resolve: (result: Success) => void;
  readonly reject: (error: Error) => void;
}

/** The store of a job, as one process sees it: real calls, encoded as on the wire, to a simulated server. */
export class SimulatedClient extends CallingStore implements Receiver {
  readonly #server: SimulatedServer;
  readonly #host: Host;
  readonly #name: string;
  readonly #pending = new Map<number, Pending>();
  #nextId = 1;
  #stopTicking: (() => void) | undefined;
  #pingIsUnanswered = false;
  #quietMs = 0;
  #heardAt = -Infinity;
  #ended: RingrunError | undefined;

  /** @param name unique, of 36 characters as a real one */
  constructor(server: SimulatedServer, host: Host, name: string, timeoutMs: number) {
    super(timeoutMs);
    this.#server = server;
    this.#host = host;
    this.#name = name;
    server.connect(name, this);
  }

  close(): Promise<void> {
    this.#end(new RingrunError('ERR_STORE_CLOSED', 'closed'));
    this.#server.disconnect(this.#name);
    return Promise.resolve();
  }

  /** As `StoreClient.keepQuiet`. */
  keepQuiet(forMs: number): void {
    this.#quietMs = forMs;
  }

  onReply(id: number, result: Result): void {
    if (!this.#host.runs()) return;
    this.#heardAt = this.#host.clock.now();
    if (result.kind === 'pong') this.#pingIsUnanswered = false;
    const pending = this.#settle(id);
    if (result.kind !== 'failure') pending?.resolve(result);
    else if (result.reason === 'TIMEOUT')
      pending?.reject(new StoreTimeoutError(result.missingKeys, 'missing'));
    else pending?.reject(new Error(result.message));
  }

  protected request(call: Call, timeoutMs: number): Promise<Success> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#send(call);
    return new Promise((resolve, reject) => {
      const untilMs = this.#host.clock.now() + timeoutMs + ('timeoutMs' in call ? graceMs : 0);
      this.#pending.set(id, { untilMs, resolve, reject });
      this.#stopTicking ??= this.#host.clock.every(tickMs, () => {
        this.#tick();
      });
    });
  }

  #send(call: Call): number {
    const id = this.#nextId++;
    if (this.#host.runs()) this.#server.send(this.#name, { id, call, client: this.#name }, this.#host.lagMs);
    return id;
  }

  #tick(): void {
    if (!this.#server.isUp) {
      this.#end(new RingrunError('ERR_STORE_LOST', 'the process that served it has ended'));
      return;
    }
    for (const [id, { untilMs }] of this.#pending) {
      if (this.#host.clock.now() < untilMs) continue;
      this.#settle(id)?.reject(new StoreTimeoutError([], 'the store has not answered'));
    }
    if (this.#pingIsUnanswered || this.#pending.size === 0) return;
    if (this.#host.clock.now() - this.#heardAt < this.#quietMs) return;
    this.#pingIsUnanswered = true;
    this.#send({ op: 'ping' });
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    this.#pending.delete(id);
    if (this.#pending.size === 0) {
      this.#stopTicking?.();
      this.#stopTicking = undefined;
      this.#pingIsUnanswered = false;
    }
    return pending;
  }

  #end(error: RingrunError): void {
    this.#ended ??= error;
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(this.#ended);
  }
}
