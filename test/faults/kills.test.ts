import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { inParallel } from './support/in-parallel.ts';
import type { Kill } from './support/killed-job.ts';
import { killPhases, runKilledJob } from './support/killed-job.ts';

/** `npm run test:faults`. */
const isFull = process.env['RINGRUN_FAULTS'] === 'full';
const repeated = process.env['RINGRUN_FAULTS_SEED'];
/** For the full form, a different seed each day, so that all moments are tested over time. */
const today = Math.floor(Date.now() / 86_400_000) * 1000;
/** One job started by hand and one under a launcher, over TCP and shared memory, with kills in all phases. */
const few = [9, 14];
const many = Array.from({ length: 50 }, (_, i) => today + i);
/** One job for each seed. RINGRUN_FAULTS_SEED repeats one of the full form. */
const seeds = repeated === undefined ? (isFull ? many : few) : [Number(repeated)];
const killsOfJob = seeds === few ? 3 : 6;
const kills = seeds.length * killsOfJob;

test(
  `after each of ${kills} kills, survivors name the dead rank and training stays correct`,
  { timeout: isFull ? 1_800_000 : 180_000 },
  async () => {
    const place = temporaryFolder();
    const made: Kill[] = [];
    const failures: string[] = [];
    await inParallel(seeds, 5, async (seed) => {
      const job = await runKilledJob(place, seed, killsOfJob);
      made.push(...job.kills);
      failures.push(...job.failures);
      if (seeds !== few)
        console.log(`${job.description}: ${job.failures.length === 0 ? 'passed' : 'FAILED'}`);
    });
    if (seeds !== few) console.log(`seeds ${seeds[0]} to ${seeds.at(-1)}: ${describePhases(made)}`);
    expect(failures).toEqual([]);
    expect(made).toHaveLength(kills);
  },
);

function describePhases(made: readonly Kill[]): string {
  const counts = killPhases.map((phase) => `${phase} ${made.filter((kill) => kill.phase === phase).length}`);
  const slowest = Math.max(...made.map(({ recoveryMs }) => recoveryMs || 0));
  return `killed in ${counts.join(', ')}; slowest recovery ${(slowest / 1000).toFixed(1)} s`;
}
