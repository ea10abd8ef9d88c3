import type { CollectiveGroup } from '../../src/graph/attributes.ts';
import { describe, expect, test } from 'vitest';
import { GraphProgram } from '../../src/compiler/graph-program.ts';
import { onnxruntimeExecutor } from '../../src/executor/cpu/onnxruntime.ts';
import { allOnHost } from '../../src/executor/value-buffer.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { combineStatistics } from '../../src/ops/collective.ts';
import { input } from '../../src/ops/source.ts';
import { fill } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';
import '../support/one-thread.ts';

interface RankStatistics {
  readonly mean: Float32Array;
  readonly variance: Float32Array;
  readonly count: number;
}

/** A group whose ranks send these numbers. This process is rank 0. */
function groupOf(ranks: readonly RankStatistics[]): CollectiveGroup {
  return {
    rank: 0,
    size: ranks.length,
    allReduce: () => Promise.reject(new Error('not called')),
    allGather: async (output, own) => {
      await new Promise(setImmediate);
      const [{ mean, variance, count }, ...others] = ranks;
      expect([...(own as Float32Array)]).toEqual([...mean, ...variance, count]);
      (output as Float32Array).set([
        ...(own as Float32Array),
        ...others.flatMap((rank) => [...rank.mean, ...rank.variance, rank.count]),
      ]);
    },
  };
}

/** Mean, variance and number of the values of all ranks, as a graph computes them. */
async function combined(ranks: readonly RankStatistics[]): Promise<Float32Array[]> {
  const [{ mean, variance, count }] = ranks;
  const [m, v] = [mean, variance].map((data) => input('float32', [data.length], { data }));
  const {
    mean: all,
    variance: ofAll,
    total,
  } = combineStatistics({ mean: m, variance: v }, count, groupOf(ranks));
  const values = [all, ofAll, total];
  const { leaves, groups } = structureOf(values);
  const program = await GraphProgram.compile(onnxruntimeExecutor, 'test', { leaves, groups }, values);
  const outputs = [mean.length, mean.length, 1].map((length) => new Float32Array(length));
  const inputs = allOnHost(leaves.map(({ source }) => source.data));
  try {
    await program.run({ inputs, outputs: allOnHost(outputs), groups });
  } finally {
    await program.release();
  }
  return outputs;
}

/** The formula, in the order of the ranks: mean Σ n·m / N, variance Σ n·(v + (m − mean)²) / N. */
function byFormula(parts: readonly RankStatistics[]): Float32Array[] {
  const ranks = parts.filter(({ count }) => count > 0);
  const all = ranks.reduce((sum, { count }) => sum + count, 0);
  const [mean, variance] = [parts[0].mean, parts[0].mean].map(({ length }) => new Float32Array(length));
  for (const channel of mean.keys()) {
    const sumOver = (term: (rank: RankStatistics) => number) =>
      ranks.reduce((sum, rank) => sum + rank.count * term(rank), 0);
    const center = sumOver((rank) => rank.mean[channel]) / all;
    const spread = sumOver((rank) => rank.variance[channel] + (rank.mean[channel] - center) ** 2);
    mean[channel] = center;
    variance[channel] = spread / all;
  }
  return [mean, variance, Float32Array.of(all)];
}

const part = (channels: number, seed: number, count: number): RankStatistics => ({
  mean: fill([channels], seed),
  variance: fill([channels], seed + 9).map(Math.abs),
  count,
});

describe.each([1, 2, 7, 16, 33])('the statistics of %i channels', (channels) => {
  test.each([[[5]], [[3, 4]], [[1, 0, 1]], [[0, 7, 2, 0, 3]]])(
    'of ranks with %j values are bit-identical to the formula',
    async (counts) => {
      const ranks = counts.map((count, seed) => part(channels, seed, count));
      expect(await combined(ranks)).toEqual(byFormula(ranks));
    },
  );
});

test('the undefined mean of a rank without values is not read', async () => {
  const nothing = { mean: Float32Array.of(NaN), variance: Float32Array.of(NaN), count: 0 };
  const ranks = [part(1, 1, 3), nothing, part(1, 2, 1)];
  expect(await combined(ranks)).toEqual(byFormula(ranks));
  expect((await combined([{ ...ranks[0], mean: Float32Array.of(NaN) }, ranks[2]]))[0]).toEqual(
    Float32Array.of(NaN),
  );
});

test('deviations of 1e-3 around 1,000 are combined without cancellation', async () => {
  // Sums of squares in float32, or in float64 of float32's x², would lose a variance of 1e-6.
  const of = (mean: number, variance: number, count: number) => ({
    mean: Float32Array.of(mean),
    variance: Float32Array.of(variance),
    count,
  });
  const outputs = await combined([of(1000, 1e-6, 3), of(1000.0009765625, 4e-6, 1)]);
  const difference = 0.0009765625;
  expectClose('mean', outputs[0], [1000 + difference / 4], 1e-7);
  expectClose('variance', outputs[1], [(3e-6 + 4e-6) / 4 + (difference ** 2 * 3) / 16], 1e-6);
  expect(outputs[2][0]).toBe(4);
});

test('fewer than 2 values are an error with the counts of all ranks, and the program runs again', async () => {
  await expect(combined([part(3, 1, 1), part(3, 2, 0)])).rejects.toThrow(
    'SyncBatchNorm: expected more than 1 value per channel over all ranks of the group in training, got 1 of rank 0, 0 of rank 1. Use a larger batch or eval().',
  );
  const ranks = [part(3, 1, 1), part(3, 2, 1)];
  expect(await combined(ranks)).toEqual(byFormula(ranks));
});
