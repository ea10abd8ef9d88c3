import { expect, test } from 'vitest';

import { createCpuGroup, HashStore } from '@ringrun/collectives';
import type { CpuGroupOptions } from '@ringrun/collectives';

const key = Buffer.alloc(32, 7);
const inTcp = { transport: 'tcp', size: 2, timeoutMs: 20_000 } as const;

/** Forms a group of two ranks in this process; `options` by rank. */
async function form(options: [Partial<CpuGroupOptions>, Partial<CpuGroupOptions>], store = new HashStore()) {
  const outcomes = await Promise.allSettled(
    options.map((own, rank) => createCpuGroup({ ...inTcp, store, rank, ...own })),
  );
  const groups = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  await Promise.all(groups.map((group) => group.destroy()));
  return outcomes.map((one) =>
    one.status === 'rejected' ? (one.reason as Error & { code: string }) : 'formed',
  );
}

test.each([
  { what: 'different keys', keys: [key, Buffer.alloc(32, 8)] },
  { what: 'a key on rank 0 only', keys: [key, undefined] },
])('with $what, every rank throws ERR_SECRET_MISMATCH at once', async ({ keys: [one, other] }) => {
  const options = [one, other].map((own) => ({ timeoutMs: 600_000, ...(own && { key: own }) }));
  const [zero, first] = await form([options[0], options[1]]);
  for (const [error, rank, peer] of [
    [zero, 0, 1],
    [first, 1, 0],
  ] as const) {
    expect(error).toMatchObject({ code: 'ERR_SECRET_MISMATCH' });
    expect((error as Error).message).toMatch(
      new RegExp(
        `^Connecting rank ${rank} .* to rank ${peer} failed: .* Set RINGRUN_SECRET, or --secret-file`,
      ),
    );
  }
});

test('a RankInfo that was replaced in the store is refused', async () => {
  for (const change of [
    { port: 1 },
    { address: '127.0.0.2' },
    { token: '00'.repeat(16) },
    { proof: undefined },
  ]) {
    const store = new HashStore();
    const set = store.set.bind(store);
    store.set = async (name, value) => {
      const info = JSON.parse(String(value)) as { rank: number };
      await set(name, JSON.stringify(info.rank === 1 ? { ...info, ...change } : info));
    };
    const [zero] = await form([{ key }, { key }], store);
    expect(zero, JSON.stringify(change)).toMatchObject({ code: 'ERR_SECRET_MISMATCH' });
  }
  expect(await form([{ key }, { key }])).toEqual(['formed', 'formed']);
});

test('encryption needs a key, and the same choice on every rank', async () => {
  expect(
    await form([
      { key, encrypt: true },
      { key, encrypt: true },
    ]),
  ).toEqual(['formed', 'formed']);
  for (const error of await form([{ key, encrypt: true }, { key }])) {
    expect(error).toMatchObject({ name: 'InvalidArgumentError' });
    expect((error as Error).message).toMatch(
      /^rank 0 .* encrypts its connections, rank 1 .* does not\. Set RINGRUN_ENCRYPT=1, or --encrypt, on every node$/,
    );
  }
  const alone = { store: new HashStore(), rank: 0, size: 2 };
  await expect(createCpuGroup({ ...alone, encrypt: true })).rejects.toThrow(
    /expected a secret key, got none/,
  );
  const zeroes = Buffer.alloc(32);
  await expect(createCpuGroup({ ...alone, encrypt: true, key: zeroes })).rejects.toThrow(/got zeroes/);
  await expect(createCpuGroup({ ...alone, key: Buffer.alloc(16) })).rejects.toThrow(
    /expected 32 bytes, got 16/,
  );
});
