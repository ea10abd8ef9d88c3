// The Trainer with `faultTolerance: 'shrink'`: a rank dies and another joins, while the processes of the others go on.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Job } from './support/recovery-job.ts';

interface Result {
  result: { globalStep: number; epochs: number; stoppedEarly: boolean; validation: { loss: number } };
  parameters: string[];
  trained: number[];
  losses: number[];
  lr: number;
  changes: number[];
  early: object;
}

const steps = 60;

test.each([
  { name: 'in an epoch', env: { PAUSE_MS: 150 }, at: /rank 2 has done step 14\.$/m },
  {
    name: 'during a validation',
    env: { PAUSE_MS: 150, VALIDATION_MS: 500 },
    at: /rank 2 validates after step 10\.$/m,
  },
])('a rank that dies $name is replaced', { timeout: 150_000 }, async ({ env, at }) => {
  const job = await Job.start(3, steps, env, 'trainer');
  const others = [job.ranks[0].process, job.ranks[1].process];
  await job.ranks[2].process.sees(at);
  job.kill(2);
  await job.restart(2);
  await job.ranks[2].process.sees(/rank 2 joins after step \d+/);
  const ends = await Promise.all(job.ranks.map(({ process: one }) => one.ended));
  const shown = job.ranks.map(({ process: one }) => JSON.stringify(one.output())).join('\n');
  expect(
    ends.map(({ code }) => code),
    shown,
  ).toEqual([0, 0, 0]);
  expect([job.ranks[0].process, job.ranks[1].process]).toEqual(others);
  const results = job.ranks.map(
    (_, rank) => JSON.parse(readFileSync(join(job.out, `rank-${rank}.json`), 'utf8')) as Result,
  );
  const all = Array.from({ length: steps }, (_, index) => index + 1);
  const [first] = results;
  for (const { result, parameters, trained, losses, lr, early } of results) {
    expect(result).toEqual({ ...first.result, globalStep: steps, epochs: 6, stoppedEarly: false });
    expect(parameters).toEqual(first.parameters);
    expect(trained).toEqual(all.slice(-trained.length));
    expect(losses).toEqual(first.losses.slice(-losses.length));
    expect(lr).toBeCloseTo(0.05 * 0.8 ** 3, 10);
    expect(early).toEqual(first.early);
  }
  expect(results.map(({ trained }) => trained.length === steps)).toEqual([true, true, false]);
  expect(first.changes).toEqual([2, 3]);
  expect(first.losses).toHaveLength(6);
  expect(first.losses[5]).toBeLessThan(first.losses[0]);
});
