import { hostname } from 'node:os';

import { expect, test } from 'vitest';

import { ways } from '../../../../test/support/extent.ts';
import { runRanks, startRanks } from '../support/ranks.ts';

const transports = ['shm', 'tcp'];
/** What waits does not depend on the transport. */
const waits = ways(
  [
    { transport: 'shm', about: 'collectiveBehindMessage' },
    { transport: 'shm', about: 'messageBehindCollective' },
    { transport: 'tcp', about: 'messages' },
  ],
  [
    { transport: 'shm', about: 'messages' },
    { transport: 'tcp', about: 'collectiveBehindMessage' },
    { transport: 'tcp', about: 'messageBehindCollective' },
  ],
);

test.each(waits)(
  'a timeout over $transport names the rank for which all others wait ($about)',
  async ({ transport, about }) => {
    await using group = await startRanks(3, 'waitInARow', {
      args: { about, timeoutMs: 1500 },
      env: { RINGRUN_TRANSPORT: transport },
    });
    const stopped = group.ranks[2];
    await stopped.reported('absent');
    stopped.process.kill('SIGSTOP');
    for (const waiting of group.ranks.slice(0, 2)) {
      const { name, message, missing } = await waiting.reported('name');
      expect({ name, missing }, String(message)).toEqual({ name: 'CollectiveTimeoutError', missing: [2] });
      expect(message).toContain(
        `rank 2 (host ${hostname()}, pid ${stopped.pid}, last seen in allReduce #1 (float32, 1 elements, SUM))`,
      );
    }
  },
);

test.each(transports)(
  'destroy over %s fails messages without a counterpart and completes the others',
  async (transport) => {
    const [receiver, sender] = await runRanks(2, 'destroyWithUnanswered', {
      env: { RINGRUN_TRANSPORT: transport },
    });
    expect(receiver).toEqual({
      code: 'ERR_GROUP_CLOSED',
      message: expect.stringMatching(
        /^recv \(float32, 3 elements, from rank 1, tag 5\) on rank 0 \(.*\): no rank sent this message before all ranks destroyed the group/,
      ) as string,
      sum: 350_000,
    });
    expect(sender).toEqual({
      code: 'ERR_GROUP_CLOSED',
      message: expect.stringMatching(
        /^send \(float32, 50,000 elements, to rank 0, tag 6\) on rank 1 \(.*\): it was not received before all ranks destroyed the group/,
      ) as string,
      sum: 350_000,
    });
  },
);
