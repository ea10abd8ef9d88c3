import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { isFull } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

// Steps that are not awaited leave each rank with the same parameters, running statistics and counts as awaited steps.

const scenarios = new Scenarios(builtScript('not-awaited.script'), temporaryFolder());

type State = Record<string, number[]>;
type Results = Record<string, { expected: State; none: State; some?: State }>;

const jobs = (isFull ? [2, 3, 4] : [3]).map((size) => ({ size, job: scenarios.job(size, ['ways', 'join']) }));

test.each(jobs)(
  'running statistics of $size ranks equal those of awaited steps, in every kind of step',
  async ({ job }) => {
    const ranks = await job.of<Results>('ways');
    for (const [rank, results] of ranks.entries()) {
      for (const [name, { expected, none, some }] of Object.entries(results)) {
        expect(none, `${name}: rank ${rank}`).toEqual(expected);
        expect(some, `${name}: rank ${rank}, rank 0 alone awaits`).toEqual(expected);
      }
    }
    // Each rank's own batch is the last in its statistics.
    const [zero, one] = ranks.map((results) => results['compileStep, own parameters'].expected);
    expect(one['first.weight']).toEqual(zero['first.weight']);
    expect(one['norm.running_mean']).not.toEqual(zero['norm.running_mean']);
  },
);

test.each(jobs)(
  'join weighs steps of $size ranks by the samples of each, and waits for the last',
  async ({ job }) => {
    for (const [rank, results] of (await job.of<Results>('join')).entries()) {
      for (const [name, { expected, none }] of Object.entries(results)) {
        expect(none, `${name}: rank ${rank}`).toEqual(expected);
      }
    }
  },
);
