import { describe, expect, test } from 'vitest';
import { ScaleJob } from './job.ts';
import { agreement } from './recovery.ts';
import { death, flapping, form, straggler } from './scenarios.ts';

const scenarios = { form, death, straggler, flapping, agreement };

/** `npm run bench:rendezvous` has more nodes. */
describe.each(Object.entries(scenarios))('%s', (_, scenario) => {
  test('gives the same figures in every run', async () => {
    const settings = { seed: 7, nodes: 8 };
    expect(await scenario(settings)).toEqual(await scenario(settings));
  });

  test('ends with every node in one round', async () => {
    for (const seed of [1, 2]) {
      const { ms } = await scenario({ seed, nodes: 12 });
      expect(ms).toBeLessThan(30_000);
    }
  });
});

describe('256 nodes', () => {
  test.each(Object.entries({ form, death }))(
    '%s costs each node not more messages and bytes than twice those of 16 nodes',
    { timeout: 120_000 },
    async (_, scenario) => {
      const few = await scenario({ seed: 1, nodes: 16 });
      const many = await scenario({ seed: 1, nodes: 256 });
      expect(many.messages / few.messages).toBeLessThan(2);
      expect(many.bytes / few.bytes).toBeLessThan(2);
    },
  );

  test('form within a quarter of a second after the last launcher has started', async () => {
    expect((await form({ seed: 1, nodes: 256 })).ms).toBeLessThan(250);
  });
});

test('a death costs a lease from the last heartbeat on, and less than a second of messages', async () => {
  const [leaseMs, heartbeatMs] = [15_000, 5000];
  for (const seed of [1, 2, 3]) {
    const { ms } = await death({ seed, nodes: 32 });
    expect(ms).toBeGreaterThan(leaseMs - heartbeatMs);
    // The leader reads the counters twice in the time between two heartbeats.
    expect(ms).toBeLessThan(leaseMs + heartbeatMs / 2 + 1000);
  }
});

test('a rank that is given to two nodes at once is detected', async () => {
  const job = new ScaleJob({ seed: 1, nodes: 4 });
  await job.untilFormed(0);
  job.onStart(job.launchers[0], job.launchers[1].workers!.round);
  await expect(job.runUntil(() => false, 1000)).rejects.toThrow(/rank \d+ was given to node00000/);
});

test('a launcher without contact to the store ends its workers before another node has their ranks', async () => {
  const job = new ScaleJob({ seed: 1, nodes: 8, min: 4 });
  await job.untilFormed(0);
  const cutOff = job.launchers[7];
  cutOff.lagMs = 1e9;
  await job.runUntil(() => (job.formed.at(-1)?.nodes ?? 0) === 7, 120_000);
  expect(cutOff.workers!.runsIn(1)).toBe(false);
});
