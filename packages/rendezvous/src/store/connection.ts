import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { longestTimerMs, printable, quoted } from '@ringrun/core';
import type { RingrunError } from '@ringrun/core';
import { Dealer, opened, uninterrupted } from './zeromq.ts';
import type { StoreKeys } from '../secret/keys.ts';
import { clientCurve } from './curve.ts';
import { formatHostPort, resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import { frameBytes, replyBytes } from './limits.ts';
import { lookAtStore } from './look-at-store.ts';
import { Outbox } from './outbox.ts';
import { describeReachability, probe } from './reachability.ts';
import type { Reachability } from './reachability.ts';
import {
  closedError,
  interruptedError,
  lostError,
  missingKeysError,
  protocolError,
  secretError,
  refusedError,
  tooLongError,
  unansweredError,
} from './errors.ts';
import type { WaitReporter } from './wait-reporter.ts';
import { decodeReply, encodeRequest, protocolName, readingCalls } from './wire.ts';
import type { Call, Failure, Parked, Reply, Result } from './wire.ts';

/** Milliseconds between checks of the pending calls. */
const tickMs = 1000;

/** Milliseconds that the client waits beyond the timeout of a waiting call for the store to report the timeout. */
const graceMs = 1000;

/**
 * Milliseconds until an attempt to connect is given up. The kernel would try an address that drops packets for two
 * minutes, although its host may be reachable again.
 */
const connectTimeoutMs = 3000;

export interface StoreConnectionOptions extends HostPort {
  /** The address of `host` to connect to first. */
  address: string;
  /** Keys from the secret of the job. Undefined: the job has none. */
  keys: StoreKeys | undefined;
  lines: WaitReporter;
  describeKeys: (keys: readonly string[]) => string;
}

interface PendingCall {
  call: Call;
  timeoutMs: number;
  startedAt: number;
  timer: NodeJS.Timeout | undefined;
  resolve: (result: Exclude<Result, Failure>) => void;
  reject: (error: Error) => void;
}

/**
 * Requests to a store and their replies, over one DEALER socket that reconnects automatically. ZeroMQ would only try the
 * first address of a name, so this class resolves the name: again every second without an answer, because the pod behind
 * it may have been replaced, and if it has several addresses, one that accepts connections is used.
 *
 * While calls are pending, a ping every second asks the store which keys they wait for. The answer is logged, and shows
 * when the store is lost: nothing listens on the port, or a restarted store answers. A lost store is never used again.
 * Pending calls keep the process alive; an idle connection does not.
 */
export class StoreConnection {
  readonly #options: StoreConnectionOptions;
  readonly #where: string;
  /** Repeated in every request, so that the store recognizes the client when ZeroMQ has reconnected. */
  readonly #name = randomUUID();
  readonly #pending = new Map<number, PendingCall>();
  #address: string;
  #socket: Dealer;
  #outbox: Outbox;
  #nextId = 1;
  #receiving = false;
  #ticker: NodeJS.Timeout | undefined;
  #probing = false;
  /** Instance id of the store that answered first. */
  #instance: string | undefined;
  /** Receipt of the last reply that had one. */
  #receipt: number | undefined;
  #pingUnanswered = false;
  /** See `StoreClient.keepQuiet`. */
  quietMs = 0;
  #heardAt = -Infinity;
  /** Ticks since the last answer. */
  #silentTicks = 0;
  /** The error of all further calls, once the connection has ended. */
  #ended: RingrunError | undefined;

  constructor(options: StoreConnectionOptions) {
    this.#options = options;
    this.#where = formatHostPort(options);
    this.#address = options.address;
    this.#socket = this.#openSocket();
    this.#outbox = new Outbox(this.#socket);
  }

  /** Resolves after the store's first answer. The timeout counts from `startedAt`, a value of `performance.now()`. */
  async greet(timeoutMs: number, startedAt: number): Promise<void> {
    this.#pingUnanswered = true;
    await this.request({ op: 'ping' }, timeoutMs, startedAt);
  }

  /**
   * Resolves with the store's result.
   *
   * @throws StoreTimeoutError if the store reports it or does not answer in time; InvalidArgumentError if the store
   * refuses the call; RingrunError `ERR_STORE_INTERRUPTED` if the connection broke during a writing call,
   * `ERR_STORE_LOST`, `ERR_STORE_PROTOCOL`, `ERR_STORE_CLOSED`, `ERR_SECRET_MISMATCH`.
   */
  request(call: Call, timeoutMs: number, startedAt = performance.now()): Promise<Exclude<Result, Failure>> {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#nextId++;
    const request = this.#encode(id, call);
    // ZeroMQ would close the connection.
    if (request.length > frameBytes) return Promise.reject(tooLongError(this.#where, call, request.length));
    return new Promise((resolve, reject) => {
      const untilMs = startedAt + timeoutMs + ('timeoutMs' in call ? graceMs : 0);
      const patienceMs = Math.max(untilMs - performance.now(), 0);
      const timer =
        patienceMs > longestTimerMs ? undefined : setTimeout(() => void this.#giveUp(id), patienceMs);
      this.#pending.set(id, { call, timeoutMs, startedAt, timer, resolve, reject });
      this.#send(request);
      if (!this.#receiving) void this.#receive();
      this.#ticker ??= setInterval(() => {
        this.#tick();
      }, tickMs);
    });
  }

  /** Rejects pending and further calls. */
  close(): void {
    this.#end(closedError(this.#where));
  }

  #openSocket(): Dealer {
    const socket = opened(
      `Connecting to the store at ${this.#where} failed`,
      () =>
        new Dealer({
          ...clientCurve(this.#options.keys),
          sendHighWaterMark: 0,
          receiveHighWaterMark: 0,
          maxMessageSize: replyBytes,
          // Nothing is lost by closing: a call has ended once its reply has arrived.
          linger: 0,
          reconnectInterval: 20,
          reconnectMaxInterval: 250,
          connectTimeout: connectTimeoutMs,
          // Some firewalls drop idle connections.
          heartbeatInterval: 15_000,
          heartbeatTimeout: 60_000,
          ipv6: isIP(this.#address) === 6,
        }),
    );
    const endpoint = `tcp://${formatHostPort({ host: this.#address, port: this.#options.port })}`;
    uninterrupted(() => {
      socket.connect(endpoint);
    });
    return socket;
  }

  #encode(id: number, call: Call): Uint8Array {
    return encodeRequest({ id, call, receipt: this.#receipt, client: this.#name });
  }

  #send(request: Uint8Array): void {
    this.#outbox.send([protocolName, request]).catch((cause: unknown) => {
      this.#end(lostError(this.#where, `sending failed: ${String(cause)}`));
    });
  }

  /** Receives only while calls are pending, because ZeroMQ keeps the process alive while receiving. */
  async #receive(): Promise<void> {
    this.#receiving = true;
    while (this.#pending.size > 0) {
      const socket = this.#socket;
      try {
        this.#take(await socket.receive());
      } catch (cause) {
        if (!socket.closed) this.#end(lostError(this.#where, `receiving failed: ${String(cause)}`));
      }
    }
    this.#receiving = false;
  }

  #take([protocol, bytes]: (Buffer | undefined)[]): void {
    if (protocol?.toString() !== protocolName) {
      this.#end(
        protocolError(this.#where, `its protocol is ${quoted(protocol?.toString('utf8', 0, 100) ?? '', 40)}`),
      );
      return;
    }
    const { id, result, receipt }: Reply = decodeReply(bytes ?? new Uint8Array());
    this.#receipt = receipt ?? this.#receipt;
    this.#heardAt = performance.now();
    if (result.kind === 'pong') {
      this.#takePong(id, result.instance, result.parked);
    } else if (result.kind !== 'failure') {
      this.#settle(id)?.resolve(result);
    } else if (result.reason === 'PROTOCOL') {
      this.#end(protocolError(this.#where, `it answered: ${printable(result.message)}`));
    } else {
      this.#takeFailure(id, result);
    }
  }

  #takeFailure(id: number, failure: Failure): void {
    const pending = this.#settle(id);
    if (!pending) return;
    const { call, timeoutMs } = pending;
    const { reason, missingKeys } = failure;
    const missing = this.#options.describeKeys(missingKeys);
    const error =
      reason === 'TIMEOUT'
        ? missingKeysError(`the store at ${this.#where}`, call, timeoutMs, missingKeys, missing)
        : refusedError(`The store at ${this.#where}`, failure);
    pending.reject(error);
  }

  #takePong(pingId: number, instance: string, parked: readonly Parked[]): void {
    this.#pingUnanswered = false;
    this.#instance ??= instance;
    if (instance !== this.#instance) {
      this.#end(lostError(this.#where, 'it was restarted, so its keys are lost'));
      return;
    }
    this.#settleOlderThan(pingId, new Set(parked.map(({ id }) => id)));
    const missing = [...new Set(parked.flatMap(({ missingKeys }) => missingKeys))];
    if (missing.length === 0) return;
    const others = parked.reduce((sum, { missingKeys, missing }) => sum + missing - missingKeys.length, 0);
    const more = others > 0 ? `, and ${others} more keys` : '';
    this.#reportWait(`${this.#options.describeKeys(missing)}${more}, at the store at ${this.#where}`);
  }

  /**
   * Replies arrive in order: a call older than a ping was answered before it, waits in the store, or was lost with a
   * connection. A lost call that only reads is sent again. Others are rejected, because they may have taken effect.
   */
  #settleOlderThan(pingId: number, parked: ReadonlySet<number>): void {
    for (const [id, pending] of this.#pending) {
      const { call } = pending;
      if (call.op === 'ping') this.#settle(id)?.resolve({ kind: 'done' });
      else if (id > pingId || parked.has(id)) continue;
      else if (readingCalls.has(call.op)) this.#send(this.#encode(id, callForRest(pending)));
      else this.#settle(id)?.reject(interruptedError(this.#where, call));
    }
  }

  /**
   * Sends a ping. If the last one is unanswered, probes the port after 1, 2, 4 and 8 ticks, then every 8 ticks: a store
   * that thousands of clients join at once answers late, and each probe costs it connections.
   */
  #tick(): void {
    if (!this.#pingUnanswered) {
      this.#silentTicks = 0;
      if (performance.now() - this.#heardAt >= this.quietMs) this.#ping();
      return;
    }
    this.#silentTicks += 1;
    const isDue = [1, 2, 4].includes(this.#silentTicks) || this.#silentTicks % 8 === 0;
    if (this.#probing) return;
    if (isDue) void this.#findOutWhy();
    else if (isIP(this.#options.host) === 0) void this.#followName();
  }

  /** Connects to the new address of a name that no longer has the current one. */
  async #followName(): Promise<void> {
    this.#probing = true;
    const addresses = await resolveAddresses(this.#options.host).catch(() => [this.#address]);
    this.#probing = false;
    if (this.#waitsForAnswer && !addresses.includes(this.#address)) this.#moveTo(addresses[0]);
  }

  #moveTo(address: string): void {
    this.#address = address;
    this.#reopenSocket();
    this.#ping();
  }

  get #waitsForAnswer(): boolean {
    return this.#pingUnanswered && this.#pending.size > 0;
  }

  async #findOutWhy(): Promise<void> {
    this.#probing = true;
    const { reachability, disagreement } = await lookAtStore(
      this.#options,
      this.#address,
      this.#silentTicks > 1,
    );
    this.#probing = false;
    if (!this.#waitsForAnswer) return;
    if (disagreement) this.#end(secretError(this.#where, disagreement));
    else this.#takeReachability(reachability);
  }

  #takeReachability(reachability: Reachability): void {
    if (reachability.kind === 'refused' && this.#instance !== undefined) {
      const at = isIP(this.#options.host) === 0 ? ` at ${reachability.addresses.join(', ')}` : '';
      const why = `the process that served it has ended, so nothing listens on its port${at}`;
      this.#end(lostError(this.#where, why));
      return;
    }
    this.#reportWait(
      `the store at ${this.#where}: ${describeReachability(this.#options.host, reachability)}`,
    );
    if (reachability.kind !== 'accepted') return;
    const mayMove = this.#instance === undefined && this.#silentTicks > 1;
    const address = addressAfter(this.#address, reachability.accepting, mayMove);
    if (address === this.#address) this.#ping();
    else this.#moveTo(address);
  }

  #ping(): void {
    this.#pingUnanswered = true;
    this.#send(this.#encode(this.#nextId++, { op: 'ping' }));
  }

  #reportWait(what: string): void {
    const oldest = this.#pending.values().next().value;
    if (oldest) this.#options.lines.report(what, oldest.startedAt, oldest.timeoutMs);
  }

  async #giveUp(id: number): Promise<void> {
    const pending = this.#settle(id);
    if (!pending) return;
    // A pending `receive` would keep the process alive.
    if (this.#pending.size === 0) this.#reopenSocket();
    const reason = describeReachability(this.#options.host, await probe(this.#options));
    pending.reject(unansweredError(this.#where, pending.call, pending.timeoutMs, reason));
  }

  #reopenSocket(): void {
    this.#socket.close();
    this.#socket = this.#openSocket();
    this.#outbox = new Outbox(this.#socket);
  }

  /** Removes a pending call. Undefined if it has ended already. */
  #settle(id: number): PendingCall | undefined {
    const pending = this.#pending.get(id);
    if (!pending) return undefined;
    clearTimeout(pending.timer);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#stopTicking();
    return pending;
  }

  #stopTicking(): void {
    clearInterval(this.#ticker);
    this.#ticker = undefined;
    this.#pingUnanswered = false;
  }

  #end(error: RingrunError): void {
    this.#ended ??= error;
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(this.#ended);
    if (!this.#socket.closed) this.#socket.close();
  }
}

/**
 * The address to try after `current`: the same one, if it accepts connections and may still answer, else the next one that
 * accepts them.
 */
function addressAfter(current: string, accepting: readonly string[], mayMove: boolean): string {
  const place = accepting.indexOf(current);
  return place >= 0 && !mayMove ? current : accepting[(place + 1) % accepting.length];
}

/** The call with the time that is left of its timeout. */
function callForRest({ call, startedAt }: PendingCall): Call {
  if (!('timeoutMs' in call)) return call;
  return { ...call, timeoutMs: Math.max(call.timeoutMs - (performance.now() - startedAt), 0) };
}
