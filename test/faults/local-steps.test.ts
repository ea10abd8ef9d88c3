// DiLoCo with `faultTolerance: 'shrink'`: a rank dies between two outer steps and another joins, while the processes of the others go on.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { finalLoss } from '../fixtures/recoverable-training.ts';
import { Job } from './support/recovery-job.ts';

interface Result {
  steps: number;
  parameters: string[];
  lastRanks: number[];
}

const steps = 120;
const ways = [
  { name: 'all parameters at once', env: {} },
  { name: 'fragments during further steps', env: { STREAMING: 1 } },
  ...(process.env['RINGRUN_FAULTS'] === 'full' ? [{ name: 'in the warm-up', env: { WARMUP: 100 } }] : []),
];

async function resultsOf(job: Job): Promise<Result[]> {
  const ends = await Promise.all(job.ranks.map(({ process: one }) => one.ended));
  const shown = job.ranks.map(({ process: one }) => JSON.stringify(one.output())).join('\n');
  expect(
    ends.map(({ code }) => code),
    shown,
  ).toEqual(ends.map(() => 0));
  return job.ranks.map(
    (_, rank) => JSON.parse(readFileSync(join(job.out, `rank-${rank}.json`), 'utf8')) as Result,
  );
}

async function lossOf({ parameters }: Result): Promise<number> {
  return await finalLoss(
    parameters.map((base64) => new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer)),
  );
}

test.each(ways)('$name: a rank dies and is replaced', { timeout: 150_000 }, async ({ env }) => {
  const undisturbed = await resultsOf(await Job.start(3, steps, env, 'local-steps'));
  const job = await Job.start(3, steps, { PAUSE_MS: 25, ...env }, 'local-steps');
  const others = [job.ranks[0].process, job.ranks[1].process];
  await others[0].sees(/rank 0 has done step 20$/m);
  job.kill(2);
  await job.restart(2);
  job.ranks[2].isKilled = false;
  await job.ranks[2].process.sees(/rank 2 joins after step \d+/);
  const results = await resultsOf(job);
  expect([job.ranks[0].process, job.ranks[1].process]).toEqual(others);
  for (const { steps: done, parameters, lastRanks } of results) {
    expect(done).toBe(steps);
    expect(parameters).toEqual(results[0].parameters);
    expect(lastRanks.toSorted()).toEqual([0, 1, 2]);
  }
  const [without, withDeath] = [await lossOf(undisturbed[0]), await lossOf(results[0])];
  expect(Math.abs(withDeath - without)).toBeLessThan(0.02);
});
