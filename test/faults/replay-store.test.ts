// A process on the path to a store with a secret, which records and repeats bytes of a client.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectStore } from '../../packages/rendezvous/src/store/client.ts';
import { StoreServer } from '../../packages/rendezvous/src/store/server.ts';
import { framesOf, greetingBytes } from './support/zmtp.ts';

interface Relay {
  port: number;
  /** The bytes that the client has sent on each of its connections. */
  sent: Buffer[][];
  /** The next frame of the client is passed on twice. */
  repeatNext: () => void;
}

async function startRelay(storePort: number): Promise<Relay> {
  const sent: Buffer[][] = [];
  const sockets = new Set<Socket>();
  let repeats = false;
  const server = createServer((client) => {
    const store = connect(storePort, '127.0.0.1');
    const chunks: Buffer[] = [];
    sent.push(chunks);
    for (const [from, to] of [
      [client, store],
      [store, client],
    ]) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
      from.on('data', (bytes: Buffer) => {
        to.write(bytes);
        if (from !== client) return;
        chunks.push(bytes);
        if (!repeats) return;
        repeats = false;
        const [last] = framesOf(Buffer.concat([Buffer.alloc(greetingBytes), bytes])).slice(-1);
        to.write(last.bytes);
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as { port: number };
  return { port, sent, repeatNext: () => (repeats = true) };
}

async function start() {
  vi.stubEnv('RINGRUN_SECRET', 'correct horse battery staple');
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close());
  const port = Number(/\d+$/.exec(server.endpoint)![0]);
  const relay = await startRelay(port);
  const open = async (at: number) => {
    const client = await connectStore({ host: '127.0.0.1', port: at, timeoutMs: 3000 });
    onTestFinished(() => client.close());
    return client;
  };
  return { port, relay, direct: await open(port), relayed: await open(relay.port) };
}

test('a recorded connection to the store is refused, and its requests have no effect', async () => {
  const { port, relay, direct, relayed } = await start();
  for (let i = 0; i < 3; i += 1) await relayed.add('count', 1);
  for (const chunks of relay.sent) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    const closed = once(socket, 'close');
    socket.write(Buffer.concat(chunks));
    await closed;
  }
  expect(await direct.add('count', 0)).toBe(3);
  expect(await relayed.add('count', 1)).toBe(4);
});

test('a request that is repeated on its connection has no second effect', async () => {
  const { relay, direct, relayed } = await start();
  await relayed.add('count', 1);
  relay.repeatNext();
  // The store reads nothing more from this connection, so the answer may be missing.
  await relayed.add('count', 1).catch((error: unknown) => {
    expect(error).toMatchObject({ name: 'StoreTimeoutError' });
  });
  expect(await direct.add('count', 0)).toBe(2);
});
