import { expect, test } from 'vitest';

import { HashStore } from '@ringrun/collectives';
import type { Store } from '@ringrun/core';

import { exchangeRankInfos } from '../../src/nccl/rank-info.ts';
import type { NcclRankInfo } from '../../src/nccl/rank-info.ts';

const key = Buffer.alloc(32, 7);
const timeoutMs = 20_000;

/** Two ranks of this process exchange their information; `keys` by rank. */
async function exchange(store: Store, keys: readonly Uint8Array[] = [key, key]) {
  const outcomes = await Promise.allSettled(
    keys.map((own, rank) => {
      const device = { index: 0, name: 'GPU', uuid: `GPU-${rank}` };
      const info = {
        rank,
        size: 2,
        problem: '',
        version: '2.21.5',
        device,
        gpuProblem: '',
        ncclHostId: '',
        uniqueId: 'id',
      };
      return exchangeRankInfos(store, info, own, timeoutMs);
    }),
  );
  return outcomes.map((one) =>
    one.status === 'fulfilled' ? one.value : (one.reason as Error & { code: string }),
  );
}

/** A store in which `change` replaces the values that are set. */
function changing(change: (value: NcclRankInfo, all: readonly string[]) => object | string): HashStore {
  const store = new HashStore();
  const set = store.set.bind(store);
  const all: string[] = [];
  store.set = async (name, value) => {
    const text = String(value);
    all.push(text);
    const changed = change(JSON.parse(text) as NcclRankInfo, all);
    await set(name, typeof changed === 'string' ? changed : JSON.stringify(changed));
  };
  return store;
}

test('ranks with the same key read the same infos', async () => {
  const [zero, one] = (await exchange(new HashStore())) as NcclRankInfo[][];
  expect(one).toEqual(zero);
  expect(zero.map(({ rank, uniqueId }) => [rank, uniqueId])).toEqual([
    [0, 'id'],
    [1, 'id'],
  ]);
  expect(zero[0]).not.toHaveProperty('proof');
});

test('with different keys, every rank throws ERR_SECRET_MISMATCH', async () => {
  const [zero, one] = (await exchange(new HashStore(), [key, Buffer.alloc(32, 8)])) as Error[];
  expect([zero, one]).toMatchObject(Array.from({ length: 2 }, () => ({ code: 'ERR_SECRET_MISMATCH' })));
  expect(zero.message).toMatch(/^Connecting rank 0 .* to rank 1 failed: /);
  expect(one.message).toMatch(/^Connecting rank 1 .* to rank 0 failed: /);
});

test.each([
  { what: 'another id', change: { uniqueId: 'other' } },
  { what: 'another GPU', change: { device: { index: 1, name: 'GPU', uuid: 'GPU-9' } } },
  { what: 'no proof', change: { proof: undefined } },
])('an info of rank 0 that was replaced by one with $what is refused', async ({ change }) => {
  const store = changing((info) => (info.rank === 0 ? { ...info, ...change } : info));
  for (const error of await exchange(store)) expect(error).toMatchObject({ code: 'ERR_SECRET_MISMATCH' });
});

test('refuses text that is not JSON, and an info of another rank', async () => {
  for (const error of await exchange(changing(({ rank }) => (rank === 0 ? 'null' : '{'))))
    expect(error).toMatchObject({ code: 'ERR_SECRET_MISMATCH' });
  const [zero] = await exchange(changing((info, all) => (info.rank === 1 ? all[0] : info)));
  expect(zero).toMatchObject({ code: 'ERR_WORLD_MISMATCH' });
  expect((zero as Error).message).toContain('registered as rank 0 of 2, but rank 0 expects rank 1 of 2');
});
