import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Called with both ends of the connection when `limit` bytes have passed. */
export interface Cut {
  limit: number;
  /** Selects the bytes that count. Default: those of answers. */
  of?: 'answers' | 'requests';
  then: (client: Socket, server: Socket) => void;
}

/** Forwards everything between clients and the server at `port` until `limit` is reached once; returns its own port. */
export async function startRelay(port: number, { limit, of = 'answers', then }: Cut): Promise<number> {
  let passed = 0;
  let isCut = false;
  const sockets = new Set<Socket>();
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) {
      sockets.add(socket);
      // The other end has closed, as these tests intend.
      socket.on('error', () => undefined);
    }
    const [from, to] = of === 'answers' ? [server, client] : [client, server];
    to.pipe(from);
    server.on('close', () => client.destroy());
    client.on('close', () => server.destroy());
    from.on('data', (bytes: Buffer) => {
      const room = isCut ? bytes.length : limit - passed;
      passed += bytes.length;
      to.write(bytes.subarray(0, room));
      if (isCut || passed < limit) return;
      isCut = true;
      from.removeAllListeners('data');
      then(client, server);
    });
  });
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
  return (relay.address() as AddressInfo).port;
}
