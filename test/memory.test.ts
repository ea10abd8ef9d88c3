import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { isFull } from './support/extent.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

const scenarios = new Scenarios(builtScript('memory.script'), temporaryFolder());

/** A leak of 1 kB per step would be 4 MB. */
const maxGrowth = 3 * 2 ** 20;

test.runIf(isFull)('memory of a rank does not grow between 1,000 and 5,000 steps', async () => {
  const ranks = await scenarios.run<[after1000: number, after5000: number]>(2, 'training');
  for (const [before, after] of ranks) expect(after - before).toBeLessThan(maxGrowth);
});

/** 1,000 programs are compiled. */
const limitMs = 300_000;

test.runIf(isFull)(
  'memory of a rank is flat over 500 shapes, and over a second pass that compiles each again',
  async () => {
    const stderr = expect.stringContaining('one graph was compiled for 17 input shapes') as unknown;
    type Bytes = [after50: number, after500: number, after1000: number];
    const ranks = await scenarios.run<Bytes>(2, 'shapes', { stderr, limitMs });
    // A program of this model takes some MB, so a leak of all would be more than 1 GB. Allocators vary by up to 15 MB.
    for (const [after50, ...later] of ranks) {
      for (const bytes of later) expect(bytes - after50).toBeLessThan(20 * 2 ** 20);
    }
  },
  limitMs + 10_000,
);
