import { hostname } from 'node:os';

import { expect, test } from 'vitest';

import { ways } from '../../../../test/support/extent.ts';
import { runRanks, startRanks } from '../support/ranks.ts';

const six = (...transports: string[]) =>
  Array.from({ length: 6 }, (_, i) => transports[i % transports.length]);
const settings = ways(
  [{ over: 'both transports', transports: six('shm', 'tcp') }],
  [
    { over: 'shm', transports: six('shm') },
    { over: 'tcp', transports: six('tcp') },
  ],
);
const pairs = ['shm', 'tcp'].flatMap((one) => ['shm', 'tcp'].map((other) => ({ one, other })));

test.each(settings.flatMap((setting) => [3, 200_003].map((length) => ({ ...setting, length }))))(
  'six groups called in opposite orders over $over complete on one thread ($length elements)',
  async ({ transports, length }) => {
    const reports = await runRanks(3, 'groupsInOppositeOrders', { args: { transports, length, rounds: 5 } });
    for (const report of reports) expect(report).toEqual({ before: 0, after: 1, more: 1 });
  },
);

test.each(pairs)(
  'a group over $one that waits for a rank does not block one over $other',
  async ({ one, other }) => {
    const reports = await runRanks(3, 'blockedBesideWorking', {
      args: { transports: [one, other], length: 1000 },
    });
    for (const report of reports) expect(report).toEqual({ wasDone: false });
  },
);

test.each(settings)(
  'a rank that is killed ends the operations of all six groups over $over',
  async ({ transports }) => {
    await using group = await startRanks(3, 'allGroupsWaiting', { args: { transports } });
    await Promise.all(group.ranks.map(({ reported }) => reported('waiting')));
    const [first, second, victim] = group.ranks as [
      (typeof group.ranks)[0],
      (typeof group.ranks)[0],
      (typeof group.ranks)[0],
    ];
    victim.process.kill('SIGKILL');
    const killedAt = Date.now();
    for (const survivor of [first, second]) {
      const { errors, failedAt } = await survivor.reported('errors');
      expect(errors).toHaveLength(6);
      for (const error of errors as unknown[]) {
        expect(error).toMatchObject({
          name: 'PeerDiedError',
          peer: { rank: 2, host: hostname(), pid: victim.pid },
        });
      }
      expect((failedAt as number) - killedAt).toBeLessThan(5000);
      expect(await survivor.ended).toEqual({ code: 0, signal: null });
    }
  },
);

test.each(settings)(
  'a process exits while operations of six groups over $over wait',
  async ({ transports }) => {
    await using group = await startRanks(3, 'allGroupsWaiting', { args: { transports, exits: true } });
    expect(await group.ranks[0]?.ended).toEqual({ code: 7, signal: null });
  },
);

test('Node environments share the thread, and one can end while another continues', async () => {
  const reports = await runRanks(2, 'groupsOfWorkerThreads');
  for (const report of reports) expect(report).toEqual({ sum: 1, sumOfSums: 2, ringrun: 1 });
});
