import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { inParallel } from './support/in-parallel.ts';
import type { Kill } from './support/killed-job.ts';
import { killPhases, runKilledJob } from './support/killed-job.ts';

/** `npm run test:faults`. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
/** The seed of one job, to repeat it. */
const seed = process.env['RINGRUN_FAULTS_SEED'];
/** Of the full form: another one each day, so that over time all moments are tested. */
const today = Math.floor(Date.now() / 86_400_000) * 1000;
const jobs = seed === undefined ? (isFull ? 50 : 2) : 1;
const first = seed === undefined ? (isFull ? today : 1) : Number(seed);
const killsOfJob = isFull || seed !== undefined ? 6 : 4;

test(
  `${jobs * killsOfJob} kills: survivors and restarts name the dead and end with the right numbers`,
  { timeout: isFull ? 1_800_000 : 180_000 },
  async () => {
    const place = temporaryFolder();
    const kills: Kill[] = [];
    const failures: string[] = [];
    const seeds = Array.from({ length: jobs }, (_, i) => first + i);
    await inParallel(seeds, 5, async (one) => {
      const began = performance.now();
      const job = await runKilledJob(place, one, killsOfJob);
      kills.push(...job.kills);
      failures.push(...job.failures);
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      if (isFull || seed !== undefined) console.log(`${job.description}: ${seconds} s`);
    });
    const histogram = killPhases.map(
      (phase) => `${phase} ${kills.filter((kill) => kill.phase === phase).length}`,
    );
    const slowest = Math.max(...kills.map(({ recoveryMs }) => recoveryMs || 0));
    console.log(
      `seeds ${first} to ${seeds.at(-1)}: ${histogram.join(', ')}; slowest recovery ${slowest.toFixed(0)} ms`,
    );
    expect(failures).toEqual([]);
    expect(kills).toHaveLength(jobs * killsOfJob);
  },
);
