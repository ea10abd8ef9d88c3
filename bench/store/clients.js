// Some clients of one store, a socket each: they join when they are told to, pass a barrier of all, and say when they began and when all were through.
import { once } from 'node:events';
import { connectStore } from 'ringrun';

const { PORT, CLIENTS, OF } = process.env;
const timeoutMs = 60_000;
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

/** Whoever comes last lets all go on. */
async function barrier(store) {
  if ((await store.add('arrived', 1)) === Number(OF)) await store.set('go', '');
  await store.wait(['go']);
}
