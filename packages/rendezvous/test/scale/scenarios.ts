import { ScaleJob } from './job.ts';
import type { ScaleSettings } from './job.ts';

/** What one scenario costs: milliseconds, and the store's messages and bytes for each node. */
export interface Cost {
  readonly ms: number;
  readonly messages: number;
  readonly bytes: number;
}

/** From the start of the last launcher to the start of the last worker. */
export async function form(settings: ScaleSettings): Promise<Cost> {
  const job = new ScaleJob(settings);
  const none = job.server.traffic;
  const { at } = await job.untilFormed(0);
  return costOf(job, none, at - (settings.startWithinMs ?? 2000));
}

/** A second of a job whose workers run: `ms` are the milliseconds for which the thread of the store is busy. */
export async function idle(settings: ScaleSettings): Promise<Cost> {
  const job = await running(settings);
  const seconds = 30;
  const before = job.server.traffic;
  const end = job.time.now + 1000 * seconds;
  await job.runUntil(() => job.time.now >= end, 2000 * seconds);
  const { messages, bytes, busyMs } = job.trafficSince(before);
  const perNode = settings.nodes * seconds;
  return { ms: busyMs / seconds, messages: messages / perNode, bytes: bytes / perNode };
}

/** A host dies, and a launcher starts in its place 10 s later: the time without a step of training. */
export async function death(settings: ScaleSettings): Promise<Cost> {
  const job = await running(settings);
  const before = job.server.traffic;
  killAndReplace(job, settings.nodes - 1, 10_000);
  await job.untilFormed(1);
  return costOf(job, before, job.lostMs);
}

/** As `death`, while the link of another host has a delay of 500 ms, and its workers take 5 s to end. */
export async function straggler(settings: ScaleSettings): Promise<Cost> {
  const job = await running(settings);
  const slow = job.launchers[1];
  slow.lagMs = 500;
  job.slowEnds.set(slow.host, 5000);
  const before = job.server.traffic;
  killAndReplace(job, settings.nodes - 1, 10_000);
  await job.untilFormed(1);
  return costOf(job, before, job.lostMs);
}

/** Of one node in 64, each dies three times within two minutes, and comes back 5 s later: the costs of each death. */
export async function flapping(settings: ScaleSettings): Promise<Cost> {
  const { nodes } = settings;
  const job = await running(settings);
  const { random, agenda } = job.time;
  const flaps = Array.from({ length: 3 * Math.max(1, nodes >> 6) }, (_, i) => ({
    index: nodes - 1 - Math.floor(i / 3),
    at: 40_000 * (i % 3) + random.between(0, 20_000),
  }));
  const before = job.server.traffic;
  let deaths = 0;
  for (const { index, at } of flaps) {
    agenda.after(at, () => {
      deaths += 1;
      killAndReplace(job, index, 5000);
    });
  }
  await job.runUntil(() => deaths === flaps.length && isWhole(job), 600_000);
  const { ms, messages, bytes } = costOf(job, before, job.lostMs);
  return { ms: ms / deaths, messages: messages / deaths, bytes: bytes / deaths };
}

function killAndReplace(job: ScaleJob, index: number, afterMs: number): void {
  job.kill(index);
  job.time.agenda.after(afterMs, () => {
    job.start(index);
  });
}

/** A job whose round has run for a few seconds. */
async function running(settings: ScaleSettings): Promise<ScaleJob> {
  const job = new ScaleJob({ min: Math.ceil(settings.nodes / 2), ...settings });
  const { at } = await job.untilFormed(0);
  await job.runUntil(() => job.time.now >= at + 6000, 8000);
  return job;
}

/** Whether the workers of all nodes run in one round. */
function isWhole({ launchers, formed }: ScaleJob): boolean {
  const { round, nodes } = formed.at(-1)!;
  return (
    nodes === launchers.length && launchers.every(({ isAlive, workers }) => isAlive && workers?.runsIn(round))
  );
}

function costOf(job: ScaleJob, before: ScaleJob['server']['traffic'], ms: number): Cost {
  const { messages, bytes } = job.trafficSince(before);
  const nodes = job.launchers.length;
  return { ms, messages: messages / nodes, bytes: bytes / nodes };
}
