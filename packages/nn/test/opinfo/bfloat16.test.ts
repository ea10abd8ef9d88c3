import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import '../support/one-thread.ts';
import { operations } from './operations/index.ts';
import { outcomeOf } from './outcome.ts';
import { Samples, samplesProblem } from './samples.ts';

// torch's own samples of its operations in bfloat16: dtypes equal torch's, and elements are no farther from the exact ones than
// one rounding, or than torch's.

const isFull = process.env['RINGRUN_OPINFO'] === 'full';
/** The short form has the first sample of every third operation. */
const names = Object.keys(operations)
  .filter((_, place) => isFull || place % 3 === 0)
  .map((name) => `op ${name}`);

describe.skipIf(samplesProblem() !== undefined)("torch's samples in bfloat16", () => {
  let samples: Samples;

  beforeAll(() => {
    samples = new Samples(names, isFull ? undefined : 1, 'bfloat16');
  }, 600_000);

  afterAll(() => {
    samples.remove();
  });

  test.each(names)(
    '%s has the dtype of torch and rounds once',
    async (name) => {
      const differences: string[] = [];
      for await (const sample of samples.of(name)) {
        const outcome = await outcomeOf(sample);
        if (outcome.kind === 'different')
          differences.push(`${sample.variant} ${sample.values}: ${outcome.how}`);
      }
      expect(differences).toEqual([]);
    },
    600_000,
  );
});
