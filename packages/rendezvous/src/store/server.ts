import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { longestTimerMs, openFileLimit, openFilesProblem, quoted, RingrunError } from '@ringrun/core';
import { opened, Router } from './zeromq.ts';
import { storeKeys } from '../secret/keys.ts';
import { serverCurve } from './curve.ts';
import type { ServerCurve } from './curve.ts';
import { failure } from './call-refusal.ts';
import { Clients, silenceCheckMs } from './clients.ts';
import { checkPort, formatHostPort, resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import { describeCall } from './errors.ts';
import { clientNameLength, frameBytes, storeLimits } from './limits.ts';
import { Milestones } from './milestones.ts';
import { Outbox } from './outbox.ts';
import { describePortOwner, findPortOwner } from './port-owner.ts';
import { probe } from './reachability.ts';
import { KeyValueState } from './key-value-state.ts';
import type { AddressedReply } from './key-value-state.ts';
import { StrangerLimit } from './strangers.ts';
import { decodeRequest, encodeReply, protocolName } from './wire.ts';
import type { Failure, Request, Result } from './wire.ts';

/**
 * Milliseconds for sending queued replies when the server closes. Less than 500, because zeromq prints a warning if a process
 * that exits waits longer for a client that does not read; on a busy machine the wait itself is late.
 */
const lingerMs = 300;

/** Number of simultaneous connection attempts before the kernel makes clients retry. */
const backlog = 4096;

/** Upper bound in milliseconds for freeing the port after closing; usually microseconds. */
const maxStopMs = 1000;

export interface StoreServerOptions {
  /**
   * Whether connections of strangers leave descriptors to the rest of the process, for which the server loads the addon. Default:
   * `true`.
   */
  readonly limitsStrangers?: boolean;
}

/** The store server: a ROUTER socket in front of a `KeyValueState`. It keeps the process alive until it is closed. */
export class StoreServer {
  /** `tcp://host:port`, with the host passed to `bind` and the bound port. */
  readonly endpoint: string;
  /** The bound port: a free one if `bind` was called with port 0. */
  readonly port: number;
  readonly #socket: Router;
  /** Address at which this process reaches the server. */
  readonly #address: HostPort;
  readonly #outbox: Outbox;
  readonly #state = new KeyValueState(randomUUID());
  readonly #served: Promise<void>;
  readonly #curve: ServerCurve;
  /** Resolves after the socket is closed. */
  readonly #observed: Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;
  readonly #clients = new Clients();
  /** Undefined without clients. */
  #silenceTimer: NodeJS.Timeout | undefined;

  private constructor(
    socket: Router,
    curve: ServerCurve,
    { host, port }: HostPort,
    { limitsStrangers = true }: StoreServerOptions,
  ) {
    this.#socket = socket;
    this.#curve = curve;
    this.#address = { host: host === '*' ? '127.0.0.1' : host, port };
    this.#outbox = new Outbox(socket);
    this.port = port;
    this.endpoint = `tcp://${formatHostPort({ host, port })}`;
    this.#served = this.#serve();
    this.#observed = this.#observe(limitsStrangers);
  }

  /**
   * Binds the port and starts to answer. `host` is an address or name of this machine, or `*` for all interfaces, IPv4
   * and IPv6; `port` 0 is any free port. With a secret (RINGRUN_SECRET), only clients with the same one are accepted.
   *
   * @throws RingrunError `ERR_PORT_IN_USE` with the process that uses the port (from /proc); `ERR_STORE_BIND` if the
   * host is not an address of this machine; InvalidArgumentError for an invalid port.
   */
  static async bind({ host, port }: HostPort, options: StoreServerOptions = {}): Promise<StoreServer> {
    checkPort(port, 0);
    const address = host === '*' ? '*' : await addressToBind(host, port);
    const curve = await serverCurve(storeKeys());
    const socket = opened(
      `The store cannot listen at ${formatHostPort({ host, port })}`,
      () =>
        new Router({
          ...curve.options,
          maxMessageSize: frameBytes,
          // 0: no limit. A router drops replies beyond the limit; `Clients` counts what is queued.
          sendHighWaterMark: 0,
          // 0: no limit. libzmq 4.3.5 stops reading a connection at the limit. If that connection is then reset, a heartbeat
          // of either side aborts the process (`!_io_error`), and its descriptor stays open if the messages are never read.
          receiveHighWaterMark: 0,
          // Closes the connections of hosts that have vanished after about 60 s.
          tcpKeepalive: 1,
          tcpKeepaliveIdle: 15,
          tcpKeepaliveInterval: 15,
          tcpKeepaliveCount: 3,
          tcpMaxRetransmitTimeout: 60_000,
          linger: lingerMs,
          backlog,
          ipv6: host === '*' || isIP(address) === 6,
        }),
    );
    try {
      await socket.bind(`tcp://${formatHostPort({ host: address, port })}`);
    } catch (error) {
      socket.close();
      await curve.release();
      throw await bindError(host, port, error);
    }
    const bound = Number(/\d+$/.exec(socket.lastEndpoint!)![0]);
    return new StoreServer(socket, curve, { host, port: bound }, options);
  }

  /**
   * Stops answering and frees the port. Pending calls of clients stay unanswered; the clients detect that the store has
   * ended.
   */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    clearInterval(this.#silenceTimer);
    this.#socket.close();
    await this.#served;
    await this.#observed;
    await this.#curve.release();
    await stopsListening(this.#address);
  }

  async #serve(): Promise<void> {
    for await (const frames of this.#socket) {
      const connection = frames[0].toString('latin1');
      await this.#send(this.#respond(connection, frames.at(1), frames.at(2)));
    }
  }

  /** Limits and counts the connections of strangers. */
  async #observe(limitsStrangers: boolean): Promise<void> {
    const { isSecret } = this.#curve;
    const limit = openFileLimit();
    const where = this.endpoint.slice('tcp://'.length);
    const refused = new Milestones((connections) => {
      process.stderr.write(
        `ringrun: the store at ${where} has refused ${connections} because of the secret. ` +
          'If the process belongs to this job, give it the same RINGRUN_SECRET or --secret-file.\n',
      );
    });
    const crowded = new Milestones((connections) => {
      process.stderr.write(
        `ringrun: the store at ${where} has closed ${connections} that did not prove to belong to this job, ` +
          `because open files are short: the limit is ${limit} (ulimit -n).\n`,
      );
    });
    const onClosed = (count: number) => {
      crowded.add(count);
    };
    const strangers = limitsStrangers ? new StrangerLimit(this.port, isSecret, onClosed) : undefined;
    for await (const { type } of this.#socket.events) {
      strangers?.onEvent(type);
      if (!isSecret) continue;
      if (type === 'handshake:error:auth' || type === 'handshake:error:protocol') refused.add(1);
    }
    strangers?.close();
  }

  #respond(
    connection: string,
    protocol: Buffer | undefined,
    bytes: Uint8Array | undefined,
  ): AddressedReply[] {
    const now = performance.now();
    const request = readRequest(protocol, bytes);
    const { client = connection, id = 0, receipt } = 'call' in request ? request : {};
    if (!this.#clients.heard(client, { connection, id, receipt }, now)) return [];
    this.#silenceTimer ??= setInterval(() => {
      this.#dropSilentClients();
    }, silenceCheckMs).unref();
    const unreadBytes = this.#clients.unreadBytes(client);
    // Refusals are replies too: a client that does not read them receives none.
    if (unreadBytes > 2 * storeLimits.unreadBytes) return [];
    if (!('call' in request)) return [{ client, reply: { id: 0, result: request } }];
    const { call } = request;
    if (unreadBytes > storeLimits.unreadBytes)
      return [{ client, reply: { id, result: tooMuchUnread(describeCall(call), unreadBytes) } }];
    const replies = this.#state.handle(client, request, now);
    if ('timeoutMs' in call) this.#arm(this.#state.nextDeadline());
    return replies;
  }

  async #send(replies: readonly AddressedReply[]): Promise<void> {
    // All replies are queued at once: clients rely on replies in the order of the state's decisions.
    await Promise.all(replies.map((reply) => this.#sendOne(reply)));
  }

  async #sendOne({ client, reply: { id, result } }: AddressedReply): Promise<void> {
    const connection = this.#clients.connectionOf(client);
    if (connection === undefined) return;
    const unreadBytes = this.#clients.unreadBytes(client);
    // Many waiting calls of one client may have been woken at once.
    const sent =
      (result.kind === 'value' || result.kind === 'values') && unreadBytes > storeLimits.unreadBytes
        ? tooMuchUnread('The reply', unreadBytes)
        : result;
    const receipt = this.#clients.replied(client, bytesOf(sent));
    const reply = encodeReply({ id, result: sent, receipt });
    await this.#outbox.send([Buffer.from(connection, 'latin1'), protocolName, reply]);
  }

  /** Drops the waits of silent clients. One that was only busy sends its waiting calls again with its next ping. */
  #dropSilentClients(): void {
    for (const client of this.#clients.takeSilent(performance.now())) this.#state.leave(client);
    if (this.#clients.size > 0) return;
    clearInterval(this.#silenceTimer);
    this.#silenceTimer = undefined;
  }

  /** Wakes up at `time` at the latest. */
  #arm(time: number): void {
    if (time >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = time;
    const delayMs = Math.min(Math.max(Math.ceil(time - performance.now()), 0), longestTimerMs);
    this.#timer = setTimeout(() => void this.#expire(), delayMs);
  }

  async #expire(): Promise<void> {
    const replies = this.#state.expire(performance.now());
    this.#timerAt = Infinity;
    this.#arm(this.#state.nextDeadline());
    await this.#send(replies);
  }
}

/** The request, or the reason why it is invalid. */
function readRequest(protocol: Buffer | undefined, bytes: Uint8Array | undefined): Request | Failure {
  const name = protocol?.toString('utf8', 0, 100);
  if (name !== protocolName) {
    return failure('PROTOCOL', `expected "${protocolName}" as first frame, got ${quoted(name ?? '', 40)}`);
  }
  try {
    const request = decodeRequest(bytes ?? new Uint8Array());
    const length = request.client?.length ?? 0;
    if (length <= clientNameLength) return request;
    return failure(
      'PROTOCOL',
      `expected a client name of at most ${clientNameLength} characters, got ${length}`,
    );
  } catch (error) {
    return failure('PROTOCOL', `a request that does not follow the schema: ${String(error)}`);
  }
}

function tooMuchUnread(what: string, unreadBytes: number): Failure {
  return failure(
    'LIMIT',
    `${what} exceeds a limit of the store: expected at most ${storeLimits.unreadBytes.toLocaleString('en-US')} bytes of replies ` +
      `that this client has not read, got ${unreadBytes.toLocaleString('en-US')}. Await some calls before making more.`,
  );
}

/** Bytes of the parts of a result that can be large. */
function bytesOf(result: Result): number {
  if (result.kind === 'value') return result.bytes.length;
  if (result.kind === 'values') return result.values.reduce((sum, { length }) => sum + length, 0);
  if (result.kind === 'failure') return textBytes(result.missingKeys);
  if (result.kind !== 'pong') return 0;
  return result.parked.reduce((sum, { missingKeys }) => sum + textBytes(missingKeys), 0);
}

function textBytes(keys: readonly string[]): number {
  return keys.reduce((sum, key) => sum + key.length, 0);
}

async function addressToBind(host: string, port: number): Promise<string> {
  try {
    const [address] = await resolveAddresses(host);
    return address;
  } catch (error) {
    throw await bindError(host, port, error);
  }
}

async function bindError(host: string, port: number, cause: unknown): Promise<RingrunError> {
  const where = formatHostPort({ host, port });
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  const shortage = openFilesProblem(cause);
  if (shortage !== undefined) {
    return new RingrunError('ERR_OPEN_FILES', `The store cannot listen at ${where}: ${shortage}.`, { cause });
  }
  if (code !== 'EADDRINUSE') {
    return new RingrunError(
      'ERR_STORE_BIND',
      `The store cannot listen at ${where}: ${code}. Expected an address or name of this machine, or * for all its addresses. ` +
        `Check MASTER_ADDR and MASTER_PORT.`,
      { cause },
    );
  }
  return new RingrunError(
    'ERR_PORT_IN_USE',
    `The store cannot listen at ${where}: port ${port} is in use by ${describePortOwner(await findPortOwner(port))}. ` +
      `End that process, or set MASTER_PORT to a free port on every rank.`,
    { cause },
  );
}

/** ZeroMQ closes sockets later, on its own thread: waits until the port is free, so that it can be bound again. */
async function stopsListening(address: HostPort): Promise<void> {
  const deadline = performance.now() + maxStopMs;
  while (performance.now() < deadline && (await probe(address)).kind === 'accepted');
}
