import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { inParallel } from './support/in-parallel.ts';
import { randomPlan, runShrinkJob } from './support/shrink-job.ts';
import type { ShrinkPlan, Victim } from './support/shrink-job.ts';

/** `npm run test:faults`. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const repeated = process.env['RINGRUN_FAULTS_SEED'];
/** For the full form, a different seed each day, so that all moments are tested over time. */
const today = Math.floor(Date.now() / 86_400_000) * 1000;
const seeds =
  repeated === undefined
    ? Array.from({ length: isFull ? 250 : 1 }, (_, i) => (isFull ? today + i : 3 + i))
    : [Number(repeated)];
const killsOfJob = 4;

test(
  `${seeds.length} jobs with kills up to their end: each ends once, with 0 and one result of each rank`,
  { timeout: 120_000 + seeds.length * 15_000 },
  async () => {
    const place = temporaryFolder();
    const failures: string[] = [];
    const counts = new Map<string, number>();
    await inParallel(seeds, 3, async (seed) => {
      const job = await runShrinkJob(place, randomPlan(seed, killsOfJob));
      if (job.failure !== undefined) failures.push(`seed ${seed}: ${job.failure}`);
      for (const phase of job.phases) counts.set(phase, (counts.get(phase) ?? 0) + 1);
      if (isFull) console.log(`seed ${seed}: ${job.failure ?? 'passed'}`);
    });
    if (isFull)
      console.log(`killed in ${[...counts].map(([phase, count]) => `${phase} ${count}`).join(', ')}`);
    expect(failures).toEqual([]);
    // A short job may end before the moment of its kills.
    if (isFull) expect(counts.size).toBeGreaterThan(0);
  },
);

const killed: Victim = { signal: 'SIGKILL', rank: 1, phase: 'step', step: 3, delayMs: 0 };
const pauses = { replacementMs: 0, stepMs: 5, resultMs: [0, 0], timeoutMs: 4000 };
const two: ShrinkPlan = { size: 2, steps: 20, maxRestarts: 1, pauses, victims: [killed], survivor: 0 };

test('a replacement that starts after the end of the training is stopped, and rank 0 writes its result', async () => {
  const plan = { ...two, pauses: { ...pauses, replacementMs: 3000, resultMs: [5000, 0] } };
  const { failure, stderr } = await runShrinkJob(temporaryFolder(), plan);
  expect(failure).toBeUndefined();
  expect(stderr).toMatch(
    /rank 1 \(pid \d+\) is not needed: the training ended before it could join; it is stopped\nringrun: the job finished without rank 1, after 1 process died\n$/,
  );
});

test('a replacement that waits to join when the training ends does not fail the job', async () => {
  // The last step ends before rank 0 has seen the request, for which it looks once a second.
  const plan = { ...two, steps: 5, pauses: { ...pauses, resultMs: [4000, 0] } };
  const { failure, stderr } = await runShrinkJob(temporaryFolder(), plan);
  expect(failure).toBeUndefined();
  expect(stderr).toMatch(/the job finished without rank 1, after 1 process died\n$/);
});

test('a stopped rank is removed at the timeout, ended and replaced', async () => {
  const plan = {
    ...two,
    // On a busy machine a rank that is not stopped may take seconds to answer. If it were removed too, no restart would be left.
    pauses: { ...pauses, stepMs: 20, timeoutMs: 6000, ranksAtEnd: 2 },
    victims: [{ ...killed, signal: 'SIGSTOP' } as const],
  };
  const { failure, stderr } = await runShrinkJob(temporaryFolder(), plan);
  expect(failure).toBeUndefined();
  expect(stderr).toMatch(
    /rank 1 \(pid (\d+)\) does not answer the other ranks, which continue without it; it is stopped\n[^]*rank 1 \(pid \1\) was stopped; the job continues, and rank 1 is restarted \(restart 1 of 1\)\n/,
  );
  expect(stderr).toMatch(/the job finished with all ranks, after 1 process died\n$/);
});
