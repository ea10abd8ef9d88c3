import { createCpuGroup, HashStore } from '@ringrun/collectives';
import { expect, test } from 'vitest';
import { equalWeights, samplesOf, SampleWeights } from '../../src/ddp/sample-weights.ts';

async function weightsAlone(): Promise<SampleWeights> {
  const group = await createCpuGroup({ store: new HashStore(), rank: 0, size: 1, timeoutMs: 10_000 });
  return new SampleWeights(group);
}

test('samples accumulate until the next average; the first step defines the unit', async () => {
  const weights = await weightsAlone();
  weights.addSamples(4);
  weights.addSamples(4);
  expect(weights.weigh()).toBe(1);
  weights.addSamples(2);
  expect(weights.weigh()).toBe(2 / 8);
  expect(weights.anyRankTrains()).toBe(true);
  // A rank that reports no samples counts as one.
  expect(weights.weigh()).toBe(1 / 8);
  weights.addSamples(4);
  weights.setSamples(16);
  weights.addSamples(4);
  expect(weights.weigh()).toBe(2);
  expect(weights.weigh()).toBe(1 / 8);
});

test('no rank trains if all ranks run out of batches in the first step', async () => {
  expect((await weightsAlone()).anyRankTrains()).toBe(false);
  expect(equalWeights.anyRankTrains()).toBe(true);
});

test.each([
  { inputs: [{ shape: [5, 2] }, { shape: [7] }], samples: 5 },
  { inputs: [{ shape: [] }], samples: 0 },
  { inputs: [new Float32Array(3)], samples: 0 },
  { inputs: [null], samples: 0 },
  { inputs: [], samples: 0 },
])('$inputs has $samples samples', ({ inputs, samples }) => {
  expect(samplesOf(inputs)).toBe(samples);
});
