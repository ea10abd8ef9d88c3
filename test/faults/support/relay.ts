import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { join } from 'node:path';

/** The purpose of a connection between ranks (docs/wire-format.md). */
export const purposes = { control: 1, data: 2, pointToPoint: 3 } as const;

/** A message of a handshake, or a record. */
export interface Unit {
  readonly connection: Relayed;
  readonly fromDialler: boolean;
  /** Number of the record in its direction, from 0. Negative for the messages of the handshake. */
  readonly index: number;
  readonly bytes: Buffer;
}

/** Receives every unit instead of the other side, to which it passes bytes with `connection.write`. */
export type Interference = (unit: Unit) => void;

/** One connection through the relay. */
export class Relayed {
  /** The port of the rank that listens. */
  readonly port: number;
  /** The units of either side so far. */
  readonly units: Unit[] = [];
  readonly #dialler: Socket;
  readonly #listener: Socket;

  constructor(port: number, dialler: Socket, listener: Socket) {
    this.port = port;
    this.#dialler = dialler;
    this.#listener = listener;
  }

  get #hello(): Buffer {
    return this.bytesOf(true);
  }

  get purpose(): number {
    return this.#hello[6];
  }

  get dialler(): number {
    return this.#hello.readUInt32LE(8);
  }

  get listener(): number {
    return this.#hello.readUInt32LE(12);
  }

  /** All bytes that a side has sent so far. */
  bytesOf(dialler: boolean): Buffer {
    return Buffer.concat(this.units.filter((unit) => unit.fromDialler === dialler).map(({ bytes }) => bytes));
  }

  /** Passes bytes to the listener or to the dialler. */
  write(toListener: boolean, bytes: Buffer): void {
    (toListener ? this.#listener : this.#dialler).write(bytes);
  }

  /** Ends the connection in both directions without a reset, after the bytes that were written. */
  end(): void {
    this.#listener.end();
    this.#dialler.end();
  }
}

/** Sizes of the first messages of each side: hello and proof, or challenge. */
const handshakeOf = (fromDialler: boolean) => (fromDialler ? [52, 32] : [64]);
const lengthBytes = 4;
const tagBytes = 16;

/** A process on the path between ranks, which reads and changes everything, but does not have the secret. */
export class Relay {
  readonly connections: Relayed[] = [];
  readonly env: Readonly<Record<string, string | number>>;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #folder: string;
  readonly #interfere: Interference;

  private constructor(
    server: Server,
    folder: string,
    library: string,
    except: number,
    interfere: Interference,
  ) {
    this.#server = server;
    this.#folder = folder;
    this.#interfere = interfere;
    const { port } = server.address() as { port: number };
    this.env = {
      LD_PRELOAD: library,
      FAULT_RELAY: port,
      FAULT_RELAY_EXCEPT: except,
      FAULT_RELAY_FOLDER: folder,
    };
    server.on('connection', (socket) => {
      this.#relay(socket);
    });
  }

  /**
   * @param library `compilePreload('relay')`
   * @param except The port of the store, which is not relayed.
   * @param interfere Default: passes everything on.
   */
  static async start(
    place: string,
    library: string,
    except: number,
    interfere: Interference = passOn,
  ): Promise<Relay> {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Relay(server, mkdtempSync(join(place, 'relay-')), library, except, interfere);
  }

  /** The connections with this purpose whose handshake is complete. */
  with(purpose: number): Relayed[] {
    return this.connections.filter((one) => one.units.length >= 3 && one.purpose === purpose);
  }

  [Symbol.dispose](): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #relay(dialler: Socket): void {
    const port = Number(readFileSync(join(this.#folder, String(dialler.remotePort)), 'utf8'));
    const listener = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    const connection = new Relayed(port, dialler, listener);
    this.connections.push(connection);
    this.#read(connection, dialler, listener, true);
    this.#read(connection, listener, dialler, false);
  }

  #read(connection: Relayed, from: Socket, to: Socket, fromDialler: boolean): void {
    this.#sockets.add(from);
    const handshake = handshakeOf(fromDialler);
    let index = -handshake.length;
    let received = Buffer.alloc(0);
    from.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      for (;;) {
        const isRecord = index >= 0;
        if (isRecord && received.length < lengthBytes) return;
        const bytes = isRecord ? lengthBytes + received.readUInt32LE() + tagBytes : handshake.at(index)!;
        if (received.length < bytes) return;
        const unit = { connection, fromDialler, index, bytes: received.subarray(0, bytes) };
        received = received.subarray(bytes);
        index += 1;
        connection.units.push(unit);
        this.#interfere(unit);
      }
    });
    from.on('error', () => undefined);
    from.on('end', () => to.end());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroySoon();
    });
  }
}

/** Passes a unit to the other side. */
export function passOn({ connection, fromDialler, bytes }: Unit): void {
  connection.write(fromDialler, bytes);
}
