/**
 * Decides which connection of a server to close, so that clients without the token cannot keep out a client with it. A new
 * connection is always accepted. Until its first request with the token it belongs to a stranger. If there are too many
 * strangers, the oldest one goes, of the address with the most; so a client that sends its request at once is served. If
 * there are too many members, the one goes whose last request is the oldest.
 */
export class ClientLimits<Connection> {
  readonly #maxStrangers: number;
  readonly #maxMembers: number;
  /** With their addresses, the oldest first. */
  readonly #strangers = new Map<Connection, string>();
  readonly #strangersOf = new Map<string, number>();
  /** The oldest request first. */
  readonly #members = new Set<Connection>();

  constructor({ maxStrangers, maxMembers }: { maxStrangers: number; maxMembers: number }) {
    this.#maxStrangers = maxStrangers;
    this.#maxMembers = maxMembers;
  }

  /** Records a new connection. Returns the one to close, if any, and forgets it. */
  accept(connection: Connection, address: string): Connection | undefined {
    this.#strangers.set(connection, address);
    this.#strangersOf.set(address, (this.#strangersOf.get(address) ?? 0) + 1);
    return this.#strangers.size > this.#maxStrangers ? this.#removed(this.#oldestStranger()) : undefined;
  }

  /** Records a request with the token. Returns the connection to close, if any, and forgets it. */
  admit(connection: Connection): Connection | undefined {
    this.remove(connection);
    this.#members.add(connection);
    const [oldest] = this.#members;
    return this.#members.size > this.#maxMembers ? this.#removed(oldest) : undefined;
  }

  /** Forgets a connection that is closed. */
  remove(connection: Connection): void {
    this.#members.delete(connection);
    const address = this.#strangers.get(connection);
    if (address === undefined) return;
    this.#strangers.delete(connection);
    const left = this.#strangersOf.get(address)! - 1;
    if (left === 0) this.#strangersOf.delete(address);
    else this.#strangersOf.set(address, left);
  }

  #removed(connection: Connection | undefined): Connection | undefined {
    if (connection !== undefined) this.remove(connection);
    return connection;
  }

  #oldestStranger(): Connection | undefined {
    const most = Math.max(...this.#strangersOf.values());
    for (const [connection, address] of this.#strangers)
      if (this.#strangersOf.get(address) === most) return connection;
    return undefined;
  }
}
