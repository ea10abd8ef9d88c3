import { HashStore } from '@ringrun/collectives';
import { PrefixStore } from '../../src/store/prefix-store.ts';
import { connectStore } from '../../src/store/client.ts';
import { StoreServer } from '../../src/store/server.ts';
import { describeStore } from './conformance.ts';

async function openOverZeroMq(clients: number) {
  const server = await StoreServer.bind({ host: '127.0.0.1', port: 0 });
  const stores = await Promise.all(
    Array.from({ length: clients }, () =>
      connectStore({ host: '127.0.0.1', port: server.port, timeoutMs: 20_000 }),
    ),
  );
  const close = async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server.close();
  };
  return { stores, close };
}

describeStore('store over ZeroMQ', openOverZeroMq);

describeStore('PrefixStore', async (clients) => {
  const { stores, close } = await openOverZeroMq(clients);
  await stores[0].set('k', 'a value of the whole store');
  return { stores: stores.map((store) => new PrefixStore('part', store)), close };
});

// Whoever shares a HashStore has the same object.
describeStore('HashStore', (clients) => {
  const store = new HashStore({ timeoutMs: 5000 });
  return Promise.resolve({
    stores: Array.from({ length: clients }, () => store),
    close: () => store.close(),
  });
});
