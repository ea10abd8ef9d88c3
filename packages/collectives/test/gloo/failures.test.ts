import { hostname } from 'node:os';

import { describe, expect, test } from 'vitest';

import { startRanks } from '../fixtures/ranks.ts';

const transports = ['shm', 'tcp'];

describe.each(transports)('a rank that is killed, over %s', (transport) => {
  test.each([
    { length: 1000, registered: false },
    { length: 1_000_000, registered: false },
    { length: 1_000_000, registered: true },
  ])('ends the others within 2 s, naming it ($length elements, registered: $registered)', async (args) => {
    await using group = await startRanks(3, 'reduceUntilFailure', {
      args,
      env: { RINGRUN_TRANSPORT: transport },
    });
    await Promise.all(group.ranks.map(({ reported }) => reported('running')));
    const [first, victim, last] = group.ranks as [
      (typeof group.ranks)[0],
      (typeof group.ranks)[0],
      (typeof group.ranks)[0],
    ];
    victim.process.kill('SIGKILL');
    const killedAt = Date.now();
    for (const survivor of [first, last]) {
      const error = await survivor.reported('failedAt');
      expect(error).toMatchObject({
        name: 'PeerDiedError',
        code: 'ERR_PEER_DIED',
        peer: { rank: 1, host: hostname(), pid: victim.pid },
        operation: expect.stringMatching(/^allReduce #\d+ \(float32, [\d,]+ elements, SUM\)$/) as string,
        sameAgain: true,
      });
      expect(error['message']).toContain(`rank 1 (host ${hostname()}, pid ${victim.pid})`);
      expect((error['failedAt'] as number) - killedAt).toBeLessThan(2000);
      expect(await survivor.ended).toEqual({ code: 0, signal: null });
    }
  });
});

describe.each(transports)('a rank that is stopped, over %s', (transport) => {
  test('is named by the timeout of the others, with where it was seen', async () => {
    await using group = await startRanks(3, 'reduceUntilFailure', {
      args: { length: 5000, timeoutMs: 1500 },
      env: { RINGRUN_TRANSPORT: transport },
    });
    await Promise.all(group.ranks.map(({ reported }) => reported('running')));
    const stopped = group.ranks[2];
    stopped.process.kill('SIGSTOP');
    for (const waiting of group.ranks.slice(0, 2)) {
      const error = await waiting.reported('failedAt');
      expect(error).toMatchObject({
        name: 'CollectiveTimeoutError',
        code: 'ERR_COLLECTIVE_TIMEOUT',
        missing: [{ rank: 2, host: hostname(), pid: stopped.pid }],
        sameAgain: true,
      });
      expect(error['message']).toMatch(/did not complete within 1500 ms/);
    }
  });
});

describe.each(transports)('ranks that disagree, over %s', (transport) => {
  test.each([
    { what: 'length', length: 1000, odd: 1, sides: ['1,000 elements', '1,001 elements'] },
    { what: 'length', length: 500_000, odd: 2, sides: ['500,000 elements', '500,001 elements'] },
    { what: 'op', length: 1000, odd: 2, sides: ['SUM', 'AVG'] },
    { what: 'op', length: 500_000, odd: 0, sides: ['SUM', 'AVG'] },
    { what: 'op', op: 'MAX', length: 1000, odd: 1, sides: ['SUM', 'MAX'] },
    { what: 'dtype', length: 1000, odd: 1, sides: ['float32, 1,000', 'int32, 1,000'] },
    { what: 'dtype', length: 500_000, odd: 2, sides: ['float32, 500,000', 'int32, 500,000'] },
    { what: 'dtypeOfBroadcast', length: 1000, odd: 0, sides: ['float32, 1,000', 'int32, 1,000'] },
    { what: 'operation', length: 1000, odd: 0, sides: ['allReduce #2', 'broadcast #2'] },
    { what: 'operation', length: 500_000, odd: 1, sides: ['allReduce #2', 'broadcast #2'] },
    { what: 'source', length: 1000, odd: 2, sides: ['from rank 0', 'from rank 1'] },
    { what: 'destroy', length: 1000, odd: 1, sides: ['barrier #2', 'destroy #2'] },
  ])(
    'about $what ($length elements) all see both sides, with their data untouched',
    async ({ sides, ...args }) => {
      await using group = await startRanks(3, 'mismatch', { args, env: { RINGRUN_TRANSPORT: transport } });
      for (const { reported, pid } of group.ranks) {
        const error = await reported('name');
        expect(error).toMatchObject({
          name: 'CollectiveMismatchError',
          code: 'ERR_COLLECTIVE_MISMATCH',
          untouched: true,
          sameAgain: true,
        });
        for (const side of sides) expect(error['message']).toContain(side);
        expect(pid).toBeGreaterThan(0);
      }
      const odd = group.ranks[args.odd];
      expect((await group.ranks[0].reported('name'))['message']).toContain(
        `rank ${odd.rank} (host ${hostname()}, pid ${odd.pid})`,
      );
    },
  );
});

test.each(transports)(
  'a process that exits while an operation runs, over %s, ends at once and is named',
  async (transport) => {
    await using group = await startRanks(2, 'exitWhileWaiting', { env: { RINGRUN_TRANSPORT: transport } });
    const [leaving, staying] = group.ranks as [(typeof group.ranks)[0], (typeof group.ranks)[0]];
    expect(await leaving.ended).toEqual({ code: 7, signal: null });
    // Either it is gone, or it had come to another operation first.
    expect(await staying.reported('name')).toMatchObject({
      name: expect.stringMatching(/^(PeerDiedError|CollectiveMismatchError)$/) as string,
    });
  },
);
