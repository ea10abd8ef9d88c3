import { deflateRawSync, inflateRawSync } from 'node:zlib';

import type { Store } from '@ringrun/core';
import { describe, expect, test, vi } from 'vitest';

import { exchangeRankInfos } from '../../src/cpu/rank-info.ts';
import type { RankInfo } from '../../src/cpu/rank-info.ts';
import { HashStore } from '../../src/hash-store.ts';

const key = Buffer.alloc(32, 7);

function infoOf(rank: number, size: number): RankInfo {
  return {
    ...{ protocol: 9, rank, size, host: `node${rank >> 3}`, pid: 1000 + rank, hostId: 'host' },
    ...{ requested: null, algorithm: '', sharedMemoryProblem: '', socketName: `socket ${rank}`, links: '' },
    ...{ address: '10.0.0.1', port: 40_000 + rank, relayPort: 50_000, token: 'token', encrypt: true },
  };
}

/** All ranks of a group exchange their information, each at `store`, except those that are missing. */
async function exchange(
  store: Store,
  size: number,
  {
    missing = [],
    timeoutMs = 20_000,
    keyOf = () => key,
  }: {
    missing?: readonly number[];
    timeoutMs?: number;
    keyOf?: (rank: number) => Uint8Array;
  } = {},
): Promise<(RankInfo[] | (Error & { code?: string }))[]> {
  const ranks = Array.from({ length: size }, (_, rank) => rank).filter((rank) => !missing.includes(rank));
  const outcomes = await Promise.allSettled(
    ranks.map((rank) => exchangeRankInfos(store, infoOf(rank, size), keyOf(rank), timeoutMs)),
  );
  return outcomes.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error)));
}

const isList = (name: string) => name.startsWith('gloo/rank-infos/');

/** A store in which `change` replaces the lists that rank 0 publishes. */
function changing(change: (values: string[]) => string | Uint8Array): HashStore {
  const store = new HashStore();
  const set = store.set.bind(store);
  vi.spyOn(store, 'set').mockImplementation(async (name, value) => {
    const values = isList(name) ? (JSON.parse(inflateRawSync(value).toString()) as string[]) : [];
    await set(name, isList(name) ? change(values) : value);
  });
  return store;
}

const packed = (values: readonly unknown[]) => deflateRawSync(JSON.stringify(values));

test.each([1, 2, 64, 65, 257])('each of %i ranks reads the infos of all', async (size) => {
  const infos = Array.from({ length: size }, (_, rank) => infoOf(rank, size));
  const all = await exchange(new HashStore(), size);
  expect(all).toHaveLength(size);
  for (const read of all) expect(read).toEqual(infos);
});

test('a rank of a large group reads a quarter of the bytes of all values', async () => {
  const store = new HashStore();
  const [get, multiGet] = [vi.spyOn(store, 'get'), vi.spyOn(store, 'multiGet')];
  const size = 100;
  await exchange(store, size);
  // Rank 0 alone reads the values.
  expect(multiGet).toHaveBeenCalledTimes(1);
  const values = (await multiGet.mock.results[0].value) as Uint8Array[];
  const bytes = values.reduce((sum, { length }) => sum + length, 0);
  expect(get).toHaveBeenCalledTimes(size - 1);
  for (const { value } of get.mock.results)
    expect(((await value) as Uint8Array).length).toBeLessThan(bytes / 4);
});

describe('in a group of 65', () => {
  test('a rank that does not publish its info is named by all others', async () => {
    const errors = await exchange(new HashStore(), 65, { missing: [3], timeoutMs: 50 });
    for (const error of errors)
      expect((error as Error).message).toMatch(/waited 50 ms for rank 3 of 65 to join the group/);
  });

  test('if rank 0 does not publish the list, the others name it', async () => {
    const store = new HashStore();
    const set = store.set.bind(store);
    vi.spyOn(store, 'set').mockImplementation(async (name, value) => {
      if (!isList(name)) await set(name, value);
    });
    const [, ...errors] = await exchange(store, 65, { timeoutMs: 50 });
    for (const error of errors)
      expect((error as Error).message).toMatch(/for rank 0 of 65 to publish the addresses of all ranks/);
  });

  test('a rank with another key is named by all others', async () => {
    const keyOf = (rank: number) => (rank === 3 ? Buffer.alloc(32, 8) : key);
    const errors = (await exchange(new HashStore(), 65, { keyOf })) as (Error & { code: string })[];
    expect(errors.map(({ code }) => code)).toEqual(errors.map(() => 'ERR_SECRET_MISMATCH'));
    for (const [rank, { message }] of errors.entries())
      if (rank !== 3) expect(message).toMatch(/to rank 3 failed/);
  });

  test('an info that was changed in the list is refused', async () => {
    const store = changing((values) =>
      packed(values.map((one) => one.replace('"port":40007', '"port":40008'))),
    );
    const [first, ...errors] = await exchange(store, 65);
    expect(first).toHaveLength(65);
    for (const error of errors)
      expect(error).toMatchObject({
        code: 'ERR_SECRET_MISMATCH',
        message: expect.stringMatching(/to rank 7 failed/) as string,
      });
  });

  test.each<[string, (values: string[]) => string | Uint8Array]>([
    ['text', () => 'text'],
    ['an empty value', () => ''],
    ['too few infos', (values) => packed(values.slice(1))],
    ['numbers', (values) => packed(values.map(() => 1))],
    ['a list that unpacks to more than 16 MiB', () => packed(['x'.repeat(2 ** 24)])],
  ])('%s instead of the list is refused', async (_, change) => {
    const [, ...errors] = await exchange(changing(change), 65);
    for (const error of errors)
      expect(error).toMatchObject({
        code: 'ERR_SECRET_MISMATCH',
        message: expect.stringMatching(/to rank 0 failed/) as string,
      });
  });
});
