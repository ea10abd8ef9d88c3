import { ShapeError } from '../errors.ts';
import { nextSequence, type CollectiveNode } from '../graph/collective.ts';
import { createNode, createValue, describeType, isNode, sizeOf, type Value } from '../graph/node.ts';
import type { CollectiveGroup, CollectiveOp } from '../graph/operators.ts';
import type { OperatorFamily } from './definition.ts';
import { add, div, mul, sub } from './elementwise.ts';
import { concat, expand, reshape, slice } from './shape.ts';
import { constant } from './source.ts';

/** Sums a value over the ranks of a group. All ranks must call it at the same point of their graphs. */
export function allReduce(value: Value, group: CollectiveGroup, sequence = nextSequence()): Value {
  if (value.dtype !== 'float32') {
    throw new ShapeError(`AllReduce: expected float32, got ${describeType(value)}.`);
  }
  return createValue('AllReduce', [value], { group, sequence }, value);
}

/** Mean and biased variance of a set of values, of one shape (one element per channel). */
export interface Statistics {
  readonly mean: Value;
  readonly variance: Value;
}

/** Combines the statistics of `count` values on each rank. `total` is the number of values on all ranks ([]). */
export function combineStatistics(
  { mean, variance }: Statistics,
  count: number,
  group: CollectiveGroup,
): Statistics & { total: Value } {
  const types = [mean, variance, { dtype: mean.dtype, shape: [] }];
  const attributes = { count, group, sequence: nextSequence() };
  const [all, allVariance, total] = createNode(
    'CombineStatistics',
    [mean, variance],
    attributes,
    types,
  ).outputs;
  return { mean: all, variance: allVariance, total };
}

export const collectives: OperatorFamily<CollectiveOp> = {
  AllReduce: {
    emit: refuse,
    // Each rank's input affects every rank's output, so its gradient is the sum of all ranks' output gradients.
    gradient: ({ attributes: { group, sequence } }, [d]) => [d && allReduce(d, group, -sequence)],
  },
  CombineStatistics: {
    emit: refuse,
    // With n, m, v of this rank and N, M, V of all: M = Σ n·m / N and V = Σ n·(v + (m − M)²) / N, so
    // dm = n/N·(dM + 2·(m − M)·dV) and dv = n/N·dV. dM and dV are summed over the losses of all ranks by one
    // all-reduce. V does not depend on M, because Σ n·(m − M) is 0.
    gradient: ({ inputs: [m], outputs: [all, , total], attributes }, [dMean, dVariance]) => {
      const { count, group, sequence } = attributes;
      const parts = [dMean, dVariance].map((d) => d ?? expand(constant(0), m.shape));
      const size = sizeOf(m.shape);
      const flat = concat(
        parts.map((d) => reshape(d, [size])),
        0,
      );
      const share = div(constant(count), total);
      const sums = mul(allReduce(flat, group, -sequence), share);
      const [ofMean, ofVariance] = [0, size].map((at) => reshape(slice(sums, 0, at, at + size), m.shape));
      return [add(ofMean, mul(ofVariance, mul(sub(m, all), constant(2)))), ofVariance];
    },
  },
};

function refuse(): never {
  throw new Error('A collective is a call of a running program; it cannot be exported.');
}

/** Runs a collective with the ranks of its group, or of another group. */
export async function perform(
  node: CollectiveNode,
  group: CollectiveGroup,
  inputs: readonly Float32Array[],
  outputs: readonly Float32Array[],
): Promise<void> {
  if (isNode(node, 'CombineStatistics'))
    return performCombination(node.attributes.count, group, inputs, outputs);
  outputs[0].set(inputs[0]);
  await group.allReduce(outputs[0]);
}

/** All-gathers mean, variance and count, so that all ranks compute the same result from the same bytes. */
async function performCombination(
  count: number,
  group: CollectiveGroup,
  [mean, variance]: readonly Float32Array[],
  outputs: readonly Float32Array[],
): Promise<void> {
  const own = Float32Array.of(...mean, ...variance, count);
  const gathered = new Float32Array(group.size * own.length);
  await group.allGather(gathered, own);
  const ranks = Array.from({ length: group.size }, (_, rank) => {
    const of = gathered.subarray(rank * own.length, (rank + 1) * own.length);
    const size = mean.length;
    return { mean: of.subarray(0, size), variance: of.subarray(size, 2 * size), count: of[2 * size] };
  });
  combine(ranks, outputs);
}

interface RankStatistics {
  readonly mean: Float32Array;
  readonly variance: Float32Array;
  readonly count: number;
}

/**
 * Combines statistics: mean Σ n·m / N, variance Σ n·(v + (m − mean)²) / N (Chan, Golub and LeVeque 1979, for several
 * parts at once). Squares of differences do not cancel if means are large relative to deviations. Computed in double
 * precision and written to [mean, variance, total].
 */
export function combine(
  parts: readonly RankStatistics[],
  [mean, variance, total]: readonly Float32Array[],
): void {
  // The mean of no values is undefined.
  const ranks = parts.filter(({ count }) => count > 0);
  const all = ranks.reduce((sum, { count }) => sum + count, 0);
  if (all < 2) {
    const counts = parts.map(({ count }, rank) => `${count} of rank ${rank}`).join(', ');
    throw new ShapeError(
      'SyncBatchNorm: expected more than 1 value per channel over all ranks of the group in training, ' +
        `got ${counts}. Use a larger batch or eval().`,
    );
  }
  for (const channel of mean.keys()) {
    const sumOver = (term: (rank: RankStatistics) => number) =>
      ranks.reduce((sum, rank) => sum + rank.count * term(rank), 0);
    const center = sumOver((rank) => rank.mean[channel]) / all;
    const spread = sumOver((rank) => rank.variance[channel] + (rank.mean[channel] - center) ** 2);
    mean[channel] = center;
    variance[channel] = spread / all;
  }
  total[0] = all;
}
