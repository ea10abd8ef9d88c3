import { closeSync, openSync, readdirSync } from 'node:fs';
import { openFileLimit } from '@ringrun/core';
import { loadNativeIfBuilt } from '@ringrun/native';
import type { OwnConnection } from '@ringrun/native';

/*
 * Limits the connections of strangers to a store server. ZeroMQ accepts every connection, at once and without a limit, and
 * keeps one that completes no handshake for 30 s. So a process without the secret of the job could take all descriptors of
 * this process with idle connections. The server does not have the descriptors of ZeroMQ's connections; the addon finds
 * them by their local port, and the kernel counts what was sent on each.
 */

/**
 * Bytes that a server has sent to a client that it has accepted, and never to another one (RFC 23, RFC 26).
 *
 * With CURVE, a stranger receives at most the greeting (64 bytes), WELCOME (170) and ERROR (12), and a member READY (67)
 * instead of ERROR. Without a secret, greeting and READY (43) precede every handshake, and the first reply follows it.
 */
const provenBytes = { curve: 64 + 170 + 12 + 1, none: 64 + 43 + 12 };

/** Most connections that have not completed their handshake: all ranks of a job of 10,240 may connect at once. */
const maxHandshakes = 16_384;

/** Descriptors that connections of strangers leave to the rest of the process, such as the restart of the workers. */
export function reserveOf(limit: number): number {
  return Math.min(256, Math.floor(limit / 4));
}

/** Connections of strangers to close: those on which the server has been silent for longest, at most `count`. */
export function oldestStrangers(
  connections: readonly OwnConnection[],
  isSecret: boolean,
  count: number,
): OwnConnection[] {
  const enough = isSecret ? provenBytes.curve : provenBytes.none;
  return connections
    .filter(({ ackedBytes }) => ackedBytes < enough)
    .sort((a, b) => b.silentMs - a.silentMs || a.fd - b.fd)
    .slice(0, Math.max(count, 0));
}

/** Milliseconds from an accepted connection to a count of all descriptors. */
const countAfterMs = 100;
/** Milliseconds between two searches while no descriptor is free: ZeroMQ tries to accept again at once, each time an event. */
const searchEveryMs = 2;

/** Closes connections of strangers before they take the last descriptors of this process. */
export class StrangerLimit {
  readonly #port: number;
  readonly #isSecret: boolean;
  readonly #onClosed: (count: number) => void;
  readonly #limit = openFileLimit();
  /** Undefined without a binary of the addon: a launcher of other programs may have none. */
  readonly #native = loadNativeIfBuilt();
  /** Connections that have not completed their handshake. */
  #handshakes = 0;
  /** The kernel assigns the lowest free number, so no more descriptors than this have been open at a time. */
  #mostOpen = 0;
  #counting: NodeJS.Timeout | undefined;
  #searchedAt = -Infinity;
  /** Connections that were shut down, and that ZeroMQ has not closed yet. */
  #closing = new Set<string>();

  /** @param onClosed Receives the number of connections that were closed at a time. */
  constructor(port: number, isSecret: boolean, onClosed: (count: number) => void) {
    this.#port = port;
    this.#isSecret = isSecret;
    this.#onClosed = onClosed;
    // The first search opens what later ones need when no descriptor is free.
    this.#native?.ownConnectionsAt(port);
  }

  /** @param type An event of the server's socket. */
  onEvent(type: string): void {
    if (type === 'accept') this.#handshakes += 1;
    else if (type === 'handshake' || type.startsWith('handshake:error')) this.#handshakes -= 1;
    if (!type.startsWith('accept')) return;
    const lowest = type === 'accept' ? lowestFreeDescriptor() : Infinity;
    this.#mostOpen = Math.max(this.#mostOpen, lowest);
    this.#enforce(lowest);
    // Closed descriptors leave gaps, so the lowest free number no longer shows how many are open.
    if (this.#mostOpen < this.#limit - reserveOf(this.#limit)) return;
    this.#counting ??= setTimeout(() => {
      this.#counting = undefined;
      this.#enforce(countDescriptors());
    }, countAfterMs).unref();
  }

  close(): void {
    clearTimeout(this.#counting);
  }

  /** @param used A lower bound of the number of open descriptors. */
  #enforce(used: number): void {
    const reserve = reserveOf(this.#limit);
    const missing = Math.max(used + reserve - this.#limit, this.#handshakes - maxHandshakes);
    if (missing <= 0 || performance.now() - this.#searchedAt < searchEveryMs) return;
    this.#searchedAt = performance.now();
    // Some more, so that the next connection does not cause another search.
    this.#closeStrangers(Math.min(missing, reserve) + Math.ceil(reserve / 2));
  }

  #closeStrangers(count: number): void {
    const connections = this.#native?.ownConnectionsAt(this.#port) ?? [];
    const before = this.#closing;
    this.#closing = new Set(connections.map(nameOf).filter((name) => before.has(name)));
    const open = connections.filter((one) => !this.#closing.has(nameOf(one)));
    const closed = oldestStrangers(open, this.#isSecret, count - this.#closing.size).filter(({ fd, peer }) =>
      this.#native!.shutDownConnection(fd, peer),
    );
    for (const one of closed) this.#closing.add(nameOf(one));
    if (closed.length > 0) this.#onClosed(closed.length);
  }
}

const nameOf = ({ fd, peer }: OwnConnection) => `${fd} ${peer}`;

/** All lower numbers are in use. Infinity if no descriptor is free. */
function lowestFreeDescriptor(): number {
  try {
    const descriptor = openSync('/dev/null', 'r');
    closeSync(descriptor);
    return descriptor;
  } catch {
    return Infinity;
  }
}

/** Infinity if no descriptor is free, and 0 without /proc. */
function countDescriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 0 : Infinity;
  }
}
