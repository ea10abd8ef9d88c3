// Clients of one store, each with its own socket. On a line on stdin they join and pass a barrier of all clients; then
// they print when they started and when they finished.
import { once } from 'node:events';
import { connectStore } from 'ringrun';

const { PORT, CLIENTS, OF } = process.env;
const timeoutMs = 60_000;
// The parent closes stdin when it ends, even if it was killed.
process.stdin.on('end', () => process.exit());
console.log('ready');
await once(process.stdin, 'data');

const startedAt = Date.now();
const stores = await Promise.all(Array.from({ length: Number(CLIENTS) }, join));
await Promise.all(stores.map(barrier));
console.log(JSON.stringify({ startedAt, throughAt: Date.now() }));
await Promise.all(stores.map((store) => store.close()));
process.exit();

function join() {
  return connectStore({ host: '127.0.0.1', port: Number(PORT), timeoutMs, log: () => undefined });
}

/** The last client to arrive releases all. */
async function barrier(store) {
  if ((await store.add('arrived', 1)) === Number(OF)) await store.set('go', '');
  await store.wait(['go']);
}
