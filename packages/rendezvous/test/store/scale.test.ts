import { expect, onTestFinished, test } from 'vitest';
import { connectStore } from '../../src/store/client.ts';
import { start } from './processes.ts';

const clients = 256;
const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');

/** bench/store is the long form, which also measures times. */
test(`${clients} simultaneous clients all connect, pass barriers and read the same values`, async () => {
  const host = start(new URL('scale.script.ts', import.meta.url), {});
  const port = Number((await host.sees(/port (\d+)\n/))[1]);
  const connect = () => connectStore({ host: '127.0.0.1', port, timeoutMs: 30_000, log: () => undefined });
  const stores = await Promise.all(Array.from({ length: clients }, connect));
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()));
  });
  for (const round of [1, 2]) {
    const seen = await Promise.all(
      stores.map(async (store, i) => {
        await store.compareSet(`leader/${round}`, '', `client ${i}`);
        const count = await store.add(`arrived/${round}`, 1);
        if (count === clients) await store.set(`go/${round}`, '');
        await store.wait([`go/${round}`]);
        return { count, leader: text(await store.get(`leader/${round}`)) };
      }),
    );
    expect(seen.map(({ count }) => count).sort((a, b) => a - b)).toEqual(
      Array.from({ length: clients }, (_, i) => i + 1),
    );
    expect(new Set(seen.map(({ leader }) => leader)).size).toBe(1);
  }
});
