import { hostname } from 'node:os';

import { describe, expect, test } from 'vitest';

import { ways } from '../../../../test/support/extent.ts';
import { hasStopped } from '../../../../test/support/processes.ts';
import { startRanks } from '../support/ranks.ts';

const transports = ['shm', 'tcp'];

describe.each(transports)('a rank that is killed, over %s', (transport) => {
  test.each(
    ways(
      [
        { length: 1000, registered: false },
        { length: 1_000_000, registered: true },
      ],
      [{ length: 1_000_000, registered: false }],
    ),
  )(
    'ends the other ranks within 5 s and is named ($length elements, registered: $registered)',
    async (args) => {
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
        expect((error['failedAt'] as number) - killedAt).toBeLessThan(5000);
        expect(await survivor.ended).toEqual({ code: 0, signal: null });
      }
    },
  );
});

describe.each(transports)('a rank that is stopped, over %s', (transport) => {
  test('is named in the timeout error of the other ranks, with its last operation', async () => {
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

test.each(transports)('a rank that wakes after two others died names both, over %s', async (transport) => {
  await using group = await startRanks(3, 'reduceUntilFailure', {
    args: { length: 5000 },
    env: { RINGRUN_TRANSPORT: transport },
  });
  await Promise.all(group.ranks.map(({ reported }) => reported('running')));
  const [sleeper, consequence, cause] = group.ranks;
  for (const { process, pid } of [sleeper, consequence]) {
    process.kill('SIGSTOP');
    await hasStopped(pid);
  }
  for (const { process, ended } of [cause, consequence]) {
    process.kill('SIGKILL');
    await ended;
  }
  sleeper.process.kill('SIGCONT');
  const nameOf = ({ pid }: { pid: number }, rank: number) =>
    `rank ${rank} (host ${hostname()}, pid ${pid}) is gone`;
  const { message } = (await sleeper.reported('failedAt')) as { message: string };
  expect(message).toContain(nameOf(consequence, 1));
  expect(message).toContain(nameOf(cause, 2));
});

test.each(ways(['tcp'], ['shm']))(
  'monitoredBarrier over %s names all ranks that are missing',
  async (transport) => {
    await using group = await startRanks(4, 'missedBarrier', {
      args: { absent: [1, 3], timeoutMs: 1500 },
      env: { RINGRUN_TRANSPORT: transport },
    });
    for (const rank of [0, 2]) {
      const report = await group.ranks[rank].reported('missing');
      expect(report).toMatchObject({ name: 'CollectiveTimeoutError', missing: [1, 3] });
      expect(report['message']).toMatch(/^monitoredBarrier #1 did not complete within 1500 ms/);
    }
  },
);

test.each(transports)(
  'a process that exits during an operation over %s ends immediately and is named',
  async (transport) => {
    await using group = await startRanks(2, 'exitWhileWaiting', { env: { RINGRUN_TRANSPORT: transport } });
    const [leaving, staying] = group.ranks as [(typeof group.ranks)[0], (typeof group.ranks)[0]];
    expect(await leaving.ended).toEqual({ code: 7, signal: null });
    // Either the rank has exited, or it had started another operation first.
    expect(await staying.reported('name')).toMatchObject({
      name: expect.stringMatching(/^(PeerDiedError|CollectiveMismatchError)$/) as string,
    });
  },
);

// exit() frees OpenSSL's state, which the thread of a group uses for every record.
test('a process that exits while its messages are encrypted ends immediately and is named', async () => {
  await using group = await startRanks(2, 'exitWhileExchanging', {
    env: { RINGRUN_TRANSPORT: 'tcp', TEST_ENCRYPT: '1' },
  });
  const [leaving, staying] = group.ranks as [(typeof group.ranks)[0], (typeof group.ranks)[0]];
  expect(await leaving.ended).toEqual({ code: 7, signal: null });
  expect(await staying.reported('name')).toMatchObject({ name: 'PeerDiedError' });
});
