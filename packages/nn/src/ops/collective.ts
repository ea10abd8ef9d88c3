import { ShapeError } from '../errors/errors.ts';
import { gradientSequence, nextSequence, type CollectiveNode } from '../graph/collective.ts';
import { createNode, createValue, isNode, type Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import type { CollectiveOp } from '../graph/operators.ts';
import type { CollectiveGroup } from '../graph/attributes.ts';
import { refuseGradient, type OperatorFamily } from './definition.ts';
import { add, div, mul, sub, cast, widened } from './elementwise.ts';
import { concat, expand, reshape, slice } from './shape.ts';
import { constant } from './source.ts';

/** Sums a value over the ranks of a group. All ranks must call it at the same point of their graphs. */
export function allReduce(value: Value, group: CollectiveGroup, sequence = nextSequence()): Value {
  if (value.dtype === 'bfloat16') return cast(allReduce(widened(value), group, sequence), value.dtype);
  if (value.dtype !== 'float32') {
    throw new ShapeError(`allReduce: expected float32, got ${describeType(value)}.`);
  }
  return createValue('AllReduce', [value], { group, sequence }, value);
}

/** The float32 values of all ranks of a group, in their order: [size, …]. It has no gradient. */
export function allGather(value: Value, group: CollectiveGroup): Value {
  const type = { dtype: value.dtype, shape: [group.size, ...value.shape] };
  return createValue('AllGather', [value], { group, sequence: nextSequence() }, type);
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
    gradient: ({ attributes: { group, sequence } }, [d]) => [
      d && allReduce(d, group, gradientSequence(sequence)),
    ],
  },
  AllGather: { emit: refuse, gradient: refuseGradient },
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
      const sums = mul(allReduce(flat, group, gradientSequence(sequence)), share);
      const [ofMean, ofVariance] = [0, size].map((at) => reshape(slice(sums, 0, at, at + size), m.shape));
      return [add(ofMean, mul(ofVariance, mul(sub(m, all), constant(2)))), ofVariance];
    },
  },
};

function refuse(): never {
  throw new Error('A collective is a call of a running program; it cannot be exported.');
}

/** The data that a collective sends and receives. */
export interface CollectiveMessage {
  readonly name: 'allReduce' | 'allGather';
  /** Numbers that each rank sends. */
  readonly length: number;
  /** The last of these numbers, if it is not an input of the node. */
  readonly count?: number;
  /** The error of a graph that cannot use the received data. */
  readonly refusal?: (received: Float32Array) => Error;
}

/**
 * The message of a collective. The statistics of all ranks are gathered as mean, variance and count of each, so that all
 * ranks compute the same result from the same bytes.
 */
export function messageOf(node: CollectiveNode): CollectiveMessage {
  const size = sizeOf(node.inputs[0].shape);
  if (isNode(node, 'AllReduce')) return { name: 'allReduce', length: size };
  if (!isNode(node, 'CombineStatistics')) return { name: 'allGather', length: size };
  const length = 2 * size + 1;
  const refusal = (received: Float32Array) =>
    tooFewValues(
      Array.from({ length: received.length / length }, (_, rank) => received[(rank + 1) * length - 1]),
    );
  return { name: 'allGather', length, count: node.attributes.count, refusal };
}

/** The error of statistics of fewer than 2 values. @param counts of the ranks */
export function tooFewValues(counts: readonly number[]): ShapeError {
  const described = counts.map((count, rank) => `${count} of rank ${rank}`).join(', ');
  return new ShapeError(
    'SyncBatchNorm: expected more than 1 value per channel over all ranks of the group in training, ' +
      `got ${described}. Use a larger batch or eval().`,
  );
}
