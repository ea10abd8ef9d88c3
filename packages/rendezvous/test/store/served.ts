// A store of this process, its clients, and sockets that speak its protocol by hand.
import { onTestFinished } from 'vitest';
import { Dealer } from 'zeromq';
import { connectStore } from '../../src/store/client.ts';
import type { ConnectStoreOptions } from '../../src/store/client.ts';
import { StoreServer } from '../../src/store/server.ts';

export const host = '127.0.0.1';
export const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');

export async function serve(port = 0): Promise<StoreServer> {
  const server = await StoreServer.bind({ host, port });
  onTestFinished(() => server.close());
  return server;
}

export async function open(port: number, options: Partial<ConnectStoreOptions> = {}) {
  const store = await connectStore({ host, port, timeoutMs: 20_000, ...options });
  onTestFinished(() => store.close());
  return store;
}

/** A socket that speaks to a store at `port` without the client. */
export function dealer(port: number, options: ConstructorParameters<typeof Dealer>[0] = {}): Dealer {
  const socket = new Dealer({ linger: 0, ...options });
  onTestFinished(() => {
    socket.close();
  });
  socket.connect(`tcp://${host}:${port}`);
  return socket;
}
