import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { RingrunError } from '@ringrun/collectives';
import { Router } from 'zeromq';
import { checkPort, formatHostPort, resolveAddresses } from './endpoint.ts';
import type { HostPort } from './endpoint.ts';
import { Outbox } from './outbox.ts';
import { describePortHolder, findPortHolder } from './port-holder.ts';
import { probe } from './reachability.ts';
import { StoreState } from './state.ts';
import type { Outgoing } from './state.ts';
import { decodeRequest, encodeReply, protocolName } from './wire.ts';
import type { Reply, Request } from './wire.ts';

/** Milliseconds that replies on their way get when the server closes. */
const lingerMs = 1000;

/** Ranks that may be connecting at the same moment before the kernel makes them retry. */
const backlog = 4096;

/** Milliseconds that the port may take to be free again after that; microseconds are seen. */
const mostToStopMs = 1000;

/** The host of a store: one ROUTER socket in front of a `StoreState`. It keeps the process alive until it is closed. */
export class StoreServer {
  /** `tcp://host:port` to connect to; the host is the one given to `bind`, the port the real one. */
  readonly endpoint: string;
  readonly port: number;
  readonly #socket: Router;
  /** Where this process reaches it. */
  readonly #place: HostPort;
  readonly #outbox: Outbox;
  readonly #state = new StoreState(randomUUID());
  readonly #served: Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;

  private constructor(socket: Router, host: string, port: number) {
    this.#socket = socket;
    this.#place = { host: host === '*' ? '127.0.0.1' : host, port };
    this.#outbox = new Outbox(socket);
    this.port = port;
    this.endpoint = `tcp://${formatHostPort({ host, port })}`;
    this.#served = this.#serve();
  }

  /**
   * Binds and starts to answer.
   *
   * @param options.host An address or name of this machine; `*` for all its interfaces, IPv4 and IPv6.
   * @param options.port 0 for any that is free.
   * @throws RingrunError `ERR_PORT_IN_USE` with the process that holds the port, where /proc tells; `ERR_STORE_BIND` when the host is not of
   * this machine; InvalidArgumentError for a port that is none.
   */
  static async bind({ host, port }: HostPort): Promise<StoreServer> {
    checkPort(port, 0);
    const address = host === '*' ? '*' : await addressToBind(host, port);
    const socket = new Router({
      // A client that lost its connection comes back under its name and gets what it still waits for.
      handover: true,
      // Without a limit: a router drops replies that exceed it.
      sendHighWaterMark: 0,
      receiveHighWaterMark: 0,
      linger: lingerMs,
      backlog,
      ipv6: host === '*' || isIP(address) === 6,
    });
    try {
      await socket.bind(`tcp://${formatHostPort({ host: address, port })}`);
    } catch (error) {
      socket.close();
      throw await bindError(host, port, error);
    }
    return new StoreServer(socket, host, Number(/\d+$/.exec(socket.lastEndpoint!)![0]));
  }

  /** Stops answering and frees the port. What clients still wait for stays unanswered: they find out that the store is gone. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#socket.close();
    await this.#served;
    await stopsListening(this.#place);
  }

  async #serve(): Promise<void> {
    for await (const frames of this.#socket) {
      const client = frames[0].toString('latin1');
      await this.#send(this.#respond(client, frames.at(1)?.toString(), frames.at(2)));
    }
  }

  #respond(client: string, protocol: string | undefined, bytes: Uint8Array | undefined): Outgoing[] {
    if (protocol !== protocolName) {
      return [
        refuse(
          client,
          `expected "${protocolName}" as first frame, got ${JSON.stringify(protocol?.slice(0, 40))}`,
        ),
      ];
    }
    let request: Request;
    try {
      request = decodeRequest(bytes ?? new Uint8Array());
    } catch (error) {
      return [refuse(client, `a request that does not follow the schema: ${String(error)}`)];
    }
    const replies = this.#state.handle(client, request, performance.now());
    if (request.call.op === 'get' || request.call.op === 'wait')
      this.#arm(performance.now() + request.call.timeoutMs);
    return replies;
  }

  async #send(replies: readonly Outgoing[]): Promise<void> {
    // All of them are queued before anything else happens: clients count on replies in the order of the state's decisions.
    await Promise.all(
      replies.map(({ client, reply }) =>
        this.#outbox.send([Buffer.from(client, 'latin1'), protocolName, encodeReply(reply)]),
      ),
    );
  }

  /** Wakes up at `time` at the latest. */
  #arm(time: number): void {
    if (time >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = time;
    const delayMs = Math.min(Math.max(Math.ceil(time - performance.now()), 0), 2 ** 31 - 1);
    this.#timer = setTimeout(() => void this.#expire(), delayMs);
  }

  async #expire(): Promise<void> {
    const replies = this.#state.expire(performance.now());
    this.#timerAt = Infinity;
    this.#arm(this.#state.nextDeadline());
    await this.#send(replies);
  }
}

function refuse(client: string, message: string): Outgoing {
  const reply: Reply = { id: 0, result: { kind: 'failure', reason: 'PROTOCOL', message, missingKeys: [] } };
  return { client, reply };
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
  if (code !== 'EADDRINUSE') {
    return new RingrunError(
      'ERR_STORE_BIND',
      `The store cannot listen at ${where}: ${code}. The host must be an address or name of this machine, or * for all of them; ` +
        `check MASTER_ADDR and MASTER_PORT.`,
      { cause },
    );
  }
  return new RingrunError(
    'ERR_PORT_IN_USE',
    `The store cannot listen at ${where}: port ${port} is in use by ${describePortHolder(await findPortHolder(port))}. ` +
      `End that process, or give this job a port of its own: MASTER_PORT=<a free port> on every rank.`,
    { cause },
  );
}

/** ZeroMQ closes on a thread of its own, some time after it was told to; whoever binds the port next must not meet the one that goes. */
async function stopsListening(place: HostPort): Promise<void> {
  const deadline = performance.now() + mostToStopMs;
  while (performance.now() < deadline && (await probe(place)).kind === 'accepted');
}
