import { expect, test } from 'vitest';
import { builtScript } from './support/built-script.ts';
import { largestDifference } from './support/largest-difference.ts';
import { Scenarios } from './support/scenarios.ts';
import { temporaryFolder } from './support/temporary-folder.ts';

interface Tuned {
  readonly trained: number[];
  readonly adapters: number[];
  readonly isFrozenSame: boolean;
  readonly total: number;
  readonly bytes: number[];
}

test('two ranks train adapters of BERT as one process does, and send only their gradients', async () => {
  const scenarios = new Scenarios(builtScript('lora.script'), temporaryFolder());
  const alone = await scenarios.runAlone<Tuned>('alone');
  const [first, second] = await scenarios.run<Tuned>(2, 'together');
  expect(second).toEqual({ ...first, bytes: [] });
  for (const { isFrozenSame } of [alone, first]) expect(isFrozenSame).toBe(true);
  expect(largestDifference(alone.trained, alone.adapters)).toBeGreaterThan(0.01);
  expect(largestDifference(first.trained, alone.trained)).toBeLessThan(1e-5);

  // Rank 2 to and from 32, for query and value of two layers, and a classifier of two classes.
  const [elements, parameters] = [2 * 2 * 2 * (2 * 32) + 2 * 32 + 2, 2 * 2 * 2 + 2];
  expect(first.trained).toHaveLength(elements);
  expect(first.total).toBeGreaterThan(20 * elements);
  // The gradients, one number for each of their parameters, and one for the rank.
  expect(first.bytes).toEqual([4 * (elements + parameters + 1)]);
});
