import { join } from 'node:path';
import { HashStore } from '@ringrun/collectives';
import type { Store } from '@ringrun/core';
import { connectStore } from '../../src/store/client.ts';
import { FileStore } from '../../src/store/file-store.ts';
import { PrefixStore } from '../../src/store/prefix-store.ts';
import { StoreServer } from '../../src/store/server.ts';
import { temporaryFolder } from '../../../runtime/test/support/temporary-folder.ts';
import { describeStore } from './conformance.ts';
import { startStoreServerProcess } from './store-server-process.ts';

type Open = Parameters<typeof describeStore>[1];
type Opened = Awaited<ReturnType<Open>>;

async function connected(clients: number, port: number, end: () => Promise<unknown>): Promise<Opened> {
  const stores = await Promise.all(
    Array.from({ length: clients }, () => connectStore({ host: '127.0.0.1', port, timeoutMs: 20_000 })),
  );
  const close = async () => {
    await Promise.all(stores.map((store) => store.close()));
    await end();
  };
  return { stores, close };
}

const implementations: Record<string, Open> = {
  // Clients that share a HashStore have the same object.
  HashStore: (clients) => {
    const store = new HashStore({ timeoutMs: 5000 });
    const stores = Array.from({ length: clients }, () => store);
    return Promise.resolve({ stores, close: () => store.close() });
  },
  FileStore: async (clients) => {
    const path = join(temporaryFolder(), 'store');
    const options = { worldSize: clients, timeoutMs: 20_000 };
    const stores = await Promise.all(Array.from({ length: clients }, () => FileStore.open(path, options)));
    const close = async () => {
      await Promise.all(stores.map((store) => store.close()));
    };
    return { stores, close };
  },
  'store over ZeroMQ': async (clients) => {
    const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
    return connected(clients, server.port, () => server.close());
  },
};

for (const [name, open] of Object.entries(implementations)) {
  describeStore(name, open);
  describeStore(`PrefixStore of ${name}`, async (clients) => {
    const { stores, close } = await open(clients);
    await stores[0].set('k', 'a value of the whole store');
    return { stores: stores.map((store): Store => new PrefixStore('part', store)), close };
  });
}

const host = startStoreServerProcess();

describeStore('store over ZeroMQ, hosted by a thread of another process', async (clients) => {
  const { port, close } = await host.open();
  return connected(clients, port, close);
});
