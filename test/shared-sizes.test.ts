import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { isFull, ways } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

// shareParameters for models of which some ranks own nothing, with every way to clip and to compute steps.

const scenarios = new Scenarios(builtScript('shared-sizes.script'), temporaryFolder());

interface Trained {
  readonly digest: string;
  readonly norm?: number;
}

// The short form uses every 23rd combination.
const every = isFull ? 1 : 23;

test.each(ways([3], [1, 2, 4, 5]).map((size) => ({ size })))(
  '$size ranks share parameters of any sizes, even if some ranks own none',
  async ({ size }) => {
    const stderr = expect.stringMatching(/^(ringrun: one graph was compiled for .*\n)*$/) as unknown;
    const env = { EVERY: every, SEED: size };
    const ranks = await scenarios.run<Record<string, Record<'shared' | 'plain', Trained>>>(size, 'sizes', {
      env,
      stderr,
    });
    for (const [rank, results] of ranks.entries()) {
      for (const [name, { shared, plain }] of Object.entries(results)) {
        expect(shared, `${name}: rank ${rank}`).toEqual(plain);
        expect(shared.digest, name).toBe(ranks[0][name].plain.digest);
        expect(shared.norm === undefined, name).toBe(/, (none|value),/.test(name));
      }
    }
    expect(Object.keys(ranks[0]).length).toBeGreaterThan(300 / every - 1);
  },
);
