import { describe, expect, test, vi } from 'vitest';
import { clockOf } from '../rounds/simulation/time.ts';
import { ScaleJob } from './job.ts';
import { SimulatedClient } from './client.ts';
import { agreement, agreementWithoutDecider, rankInfos } from './recovery.ts';
import { death, flapping, form, idle, straggler } from './scenarios.ts';

const scenarios = { form, idle, death, straggler, flapping, agreement, rankInfos };

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
  test.each(Object.entries({ form, idle, death, agreement, rankInfos }))(
    '%s costs each node not more messages than twice those of 16 nodes',
    { timeout: 120_000 },
    async (_, scenario) => {
      const few = await scenario({ seed: 1, nodes: 16 });
      const many = await scenario({ seed: 1, nodes: 256 });
      expect(many.messages / few.messages).toBeLessThan(2);
      // Each rank of a group must learn the addresses of all others.
      if (scenario !== rankInfos) expect(many.bytes / few.bytes).toBeLessThan(2);
    },
  );

  test('form within a quarter of a second after the last launcher has started', async () => {
    expect((await form({ seed: 1, nodes: 256 })).ms).toBeLessThan(250);
  });
});

test('2,048 nodes form with 18 messages each', { timeout: 120_000 }, async () => {
  // 19 if nodes that wait for the others ask every second, 22 if each part of the state is a message of its own.
  expect((await form({ seed: 1, nodes: 2048 })).messages).toBeLessThan(18.5);
});

test('if the rank that decides on the next group is stopped, the others agree within 4 s', async () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    for (const seed of [1, 2])
      expect((await agreementWithoutDecider({ seed, nodes: 8 })).ms).toBeLessThan(4000);
  } finally {
    write.mockRestore();
  }
});

/** Runs the job for so long, in which the leader removes silent nodes and deletes their keys. */
async function pass(job: ScaleJob, ms: number): Promise<void> {
  const end = job.time.now + ms;
  await job.runUntil(() => job.time.now >= end, ms + 1000);
}

test('a node that has died leaves no keys behind', async () => {
  const job = new ScaleJob({ seed: 1, nodes: 8, min: 4 });
  await job.untilFormed(0);
  const { id } = job.launchers[7];
  job.kill(7);
  await pass(job, 60_000);
  const host = { clock: clockOf(job.time, () => true), runs: () => true, lagMs: 0 };
  const client = new SimulatedClient(job.server, host, 'test', 5000);
  const found: number[] = [];
  for (const key of [`rendezvous/alive/${id}`, `rendezvous/part/${id}/`])
    void client.deletePrefix(key).then((count) => found.push(count));
  await job.runUntil(() => found.length === 2, 1000);
  expect(found).toEqual([0, 0]);
});

test('a node that was cut off until its keys were deleted joins again', async () => {
  const job = new ScaleJob({ seed: 1, nodes: 8, min: 4 });
  await job.untilFormed(0);
  job.launchers[7].lagMs = 1e9;
  await pass(job, 120_000);
  expect(job.formed.at(-1)!.nodes).toBe(7);
  job.launchers[7].lagMs = 0;
  await job.runUntil(() => job.formed.at(-1)!.nodes === 8, 60_000);
});

test('a node that waits, and was cut off until its keys were deleted, takes the next free slot', async () => {
  const job = new ScaleJob({ seed: 1, nodes: 8, min: 8 });
  await job.untilFormed(0);
  job.start(8);
  await pass(job, 10_000);
  job.launchers[8].lagMs = 1e9;
  await pass(job, 120_000);
  job.launchers[8].lagMs = 0;
  await pass(job, 20_000);
  job.kill(7);
  await job.runUntil(() => job.launchers[8].workers !== undefined, 60_000);
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
