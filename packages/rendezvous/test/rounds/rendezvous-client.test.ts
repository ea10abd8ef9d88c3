import { StoreTimeoutError } from '@ringrun/core';
import { expect, test, vi } from 'vitest';
import { HashStore } from '../../../collectives/src/hash-store.ts';
import { RendezvousClient } from '../../src/rounds/rendezvous-client.ts';
import type { RendezvousState } from '../../src/rounds/rendezvous-state.ts';

const endpoint = { host: '127.0.0.1', port: 1 };

async function clientOf(store: HashStore): Promise<RendezvousClient> {
  const connect = () => Promise.resolve(store);
  return await RendezvousClient.open({ endpoint, localEndpoint: endpoint, isServer: false, connect });
}

const part = (version: number) => ({ id: 'node', serial: version, state: { version } as RendezvousState });

test('a part that was read before the store stopped answering is read again', async () => {
  const store = new HashStore();
  const client = await clientOf(store);
  await client.writeParts([part(1), part(2)]);
  const get = store.get.bind(store);
  vi.spyOn(store, 'get').mockImplementation(async (key, options) => {
    if (key.endsWith('/3')) throw new StoreTimeoutError([], 'The store has not answered.');
    return await get(key, options);
  });
  await expect(client.readPart('node', 1, 1)).rejects.toThrow('not answered');
  vi.restoreAllMocks();
  expect(await client.readPart('node', 1, 1)).toEqual({ serial: 2, state: { version: 2 } });
  expect(await store.numKeys()).toBe(0);
});

test('parts of many nodes are written in messages that fit into a frame, and each node reads its own', async () => {
  const store = new HashStore();
  const client = await clientOf(store);
  const set = vi.spyOn(store, 'multiSet');
  const runId = 'x'.repeat(100_000);
  const parts = Array.from({ length: 10 }, (_, i) => ({
    ...{ id: `node${i}`, serial: 1 },
    state: { version: i, runId } as RendezvousState,
  }));
  await client.writeParts(parts);
  const sizes = set.mock.calls.map(([keys]) => keys.length);
  expect(sizes).toEqual([3, 3, 3, 1]);
  for (const { id, state } of parts) expect((await client.readPart(id, 1, 1))?.state).toEqual(state);
});
