import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What to do when `limit` bytes of answers have passed: the connection's both ends are given. */
export interface Cut {
  limit: number;
  then: (client: Socket, server: Socket) => void;
}

/** Stands between clients and the server at `port`, and passes everything on until it is told to stop, once; returns its own port. */
export async function startRelay(port: number, { limit, then }: Cut): Promise<number> {
  let passed = 0;
  let isCut = false;
  const sockets = new Set<Socket>();
  const relay = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    for (const socket of [client, server]) {
      sockets.add(socket);
      // The other end has gone, which is what these tests are about.
      socket.on('error', () => undefined);
    }
    client.pipe(server);
    server.on('close', () => client.destroy());
    client.on('close', () => server.destroy());
    server.on('data', (bytes: Buffer) => {
      const room = isCut ? bytes.length : limit - passed;
      passed += bytes.length;
      client.write(bytes.subarray(0, room));
      if (isCut || passed < limit) return;
      isCut = true;
      server.removeAllListeners('data');
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
