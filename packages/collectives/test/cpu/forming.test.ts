import { describe, expect, test } from 'vitest';

import { startRanks } from '../support/ranks.ts';

const reportsOf = async (...args: Parameters<typeof startRanks>) => {
  await using group = await startRanks(...args);
  return await Promise.all(
    group.ranks.map(async ({ ended, reports, stderr }) => {
      await ended;
      return { ...reports.at(-1), stderr: stderr() };
    }),
  );
};

describe('the transport', () => {
  test('uses shared memory on one host', async () => {
    for (const report of await reportsOf(2, 'forming'))
      expect(report).toMatchObject({ transport: 'shm', sum: 1 });
  });

  test('uses TCP between hosts', async () => {
    const reports = await reportsOf(3, 'forming', {
      envOf: (rank) => ({ RINGRUN_HOST_ID: `host ${rank}` }),
    });
    for (const report of reports) expect(report).toMatchObject({ transport: 'tcp', sum: 3, stderr: '' });
  });

  test('refuses shared memory between hosts', async () => {
    const reports = await reportsOf(2, 'forming', {
      env: { RINGRUN_TRANSPORT: 'shm' },
      envOf: (rank) => ({ RINGRUN_HOST_ID: `host ${rank}` }),
    });
    for (const report of reports) {
      expect(report).toMatchObject({ name: 'InvalidArgumentError' });
      expect((report as { message?: string }).message).toMatch(/rank 1 .* cannot share memory with rank 0/);
    }
  });

  test('must be the same on all ranks', async () => {
    const reports = await reportsOf(2, 'forming', { args: { options: [{ transport: 'tcp' }, {}] } });
    for (const report of reports) {
      expect((report as { message?: string }).message).toMatch(/rank 0 .* transport tcp, rank 1 .* auto/);
    }
  });
});

describe('the algorithm', () => {
  const messagesOf = async (envOf: (rank: number) => NodeJS.ProcessEnv) => {
    const reports = await reportsOf(2, 'forming', { env: { RINGRUN_TRANSPORT: 'tcp' }, envOf });
    return reports as { name?: string; message?: string }[];
  };

  test('must be a known name', async () => {
    for (const { name, message } of await messagesOf(() => ({ RINGRUN_ALGORITHM: 'butterfly' }))) {
      expect(name).toBe('InvalidArgumentError');
      expect(message).toMatch(/RINGRUN_ALGORITHM is 'butterfly', expected one of .*ring, halving-doubling/);
    }
  });

  test('must be the same on all ranks', async () => {
    const reports = await messagesOf((rank) => ({ RINGRUN_ALGORITHM: rank === 0 ? 'ring' : '' }));
    for (const { name, message } of reports) {
      expect(name).toBe('InvalidArgumentError');
      expect(message).toMatch(/rank 0 .* algorithm ring, rank 1 .* algorithm auto/);
    }
  });

  test('can be requested', async () => {
    for (const report of await messagesOf(() => ({ RINGRUN_ALGORITHM: 'ring' })))
      expect(report).toMatchObject({ transport: 'tcp', sum: 1 });
  });
});

test('names the ranks that never join', async () => {
  const reports = await reportsOf(3, 'forming', { args: { absent: 1, timeoutMs: 700 } });
  for (const report of [reports[0], reports[2]]) {
    expect(report).toMatchObject({ name: 'StoreTimeoutError', code: 'ERR_STORE_TIMEOUT' });
    expect((report as { message?: string }).message).toMatch(/waited 700 ms for rank 1 of 3 to join/);
  }
});

test.each(['shm', 'tcp'])(
  'names a rank that dies before it connects over %s, before the timeout',
  async (transport) => {
    const started = Date.now();
    const reports = await reportsOf(3, 'dyingAfterPublishing', { env: { RINGRUN_TRANSPORT: transport } });
    for (const report of reports.slice(1))
      expect(report).toMatchObject({ name: 'PeerDiedError', peer: { rank: 0 } });
    // Less than the timeout of the group, 20 s. Includes the start of three processes.
    expect(Date.now() - started).toBeLessThan(18_000);
  },
);

test('connections from strangers are refused and delay no rank', async () => {
  const reports = await reportsOf(2, 'amongStrangers', { env: { RINGRUN_TRANSPORT: 'tcp' } });
  for (const report of reports) expect(report).toMatchObject({ transport: 'tcp', sum: 1 });
});
