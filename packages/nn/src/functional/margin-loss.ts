import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { inUserFunction } from '../errors/called-function.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { softplus } from '../ops/functions.ts';
import { describeType } from '../value-type.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { where } from '../tensor/combine.ts';
import { pairwiseDistance } from './similarity.ts';
import { reduced, requireEqualShapes, type ReductionOptions } from './reduction.ts';

/** Options of losses with a margin, such as {@link cosineEmbeddingLoss}. */
export interface MarginLossOptions extends ReductionOptions {
  /** The margin. Default: see each loss. */
  margin?: number;
}

/** Options of {@link tripletMarginLoss} and of `nn.TripletMarginLoss`. */
export interface TripletMarginLossOptions extends ReductionOptions {
  /** The margin, above 0. Default: 1. */
  margin?: number;
  /** The p of the distance. Default: 2. */
  p?: number;
  /** Added to each difference for numerical stability. Default: 1e-6. */
  eps?: number;
  /**
   * If true, uses the distance of positive and negative where it is smaller than that of anchor and negative. Default: `false`.
   */
  swap?: boolean;
}

/**
 * 1 − cos of pairs with target 1, and max(0, cos − margin) of pairs with target −1, reduced
 * (torch.nn.functional.cosine_embedding_loss). The loss of other targets is 0. Default of `margin`: 0.
 *
 * - `a`: [N, D]
 * - `b`: [N, D]
 * - `target`: [N]: 1 or −1
 */
export function cosineEmbeddingLoss(
  ...given: Call<
    [input1: Tensor, input2: Tensor, target: Tensor, options?: MarginLossOptions | undefined],
    'F.cosineEmbeddingLoss'
  >
): Tensor {
  const [givenA, givenB, givenTarget, options] = arranged('F.cosineEmbeddingLoss', given);
  const [a, b, target] = autocastTensors('cosineEmbeddingLoss', givenA, givenB, givenTarget);
  if (isNarrow(a, b)) return roundedOnce([a, b], (x, y) => cosineEmbeddingLoss(x, y, target, options));
  const { margin = 0, reduction = 'mean' } = options;
  requireEqualShapes('cosineEmbeddingLoss', a, b);
  // torch adds this to both squares.
  const epsilon = 1e-12;
  const dim = [-1];
  const squares = a.square().sum(dim).add(epsilon).mul(b.square().sum(dim).add(epsilon));
  const cosine = a.mul(b).sum(dim).div(squares.sqrt());
  const positive = where(target.eq(1), cosine.neg().add(1), 0);
  const losses = positive.add(where(target.eq(-1), cosine.sub(margin).clamp(0), 0));
  return reduced('cosineEmbeddingLoss', losses.value, reduction);
}

/**
 * max(0, ‖anchor − positive‖ − ‖anchor − negative‖ + margin), reduced (torch.nn.functional.triplet_margin_loss; Balntas and
 * others, 2016).
 *
 * - `anchor`: [N, D], like the others
 */
export function tripletMarginLoss(
  ...given: Call<
    [anchor: Tensor, positive: Tensor, negative: Tensor, options?: TripletMarginLossOptions | undefined],
    'F.tripletMarginLoss'
  >
): Tensor {
  const [givenAnchor, givenPositive, givenNegative, options] = arranged('F.tripletMarginLoss', given);
  const [anchor, positive, negative] = autocastTensors(
    'tripletMarginLoss',
    givenAnchor,
    givenPositive,
    givenNegative,
  );
  if (isNarrow(anchor, positive, negative)) {
    return roundedOnce([anchor, positive, negative], (a, p, n) => tripletMarginLoss(a, p, n, options));
  }
  const { margin = 1, p = 2, eps = 1e-6, swap = false, reduction = 'mean' } = options;
  requireMargin('tripletMarginLoss', margin);
  requireEqualShapes('tripletMarginLoss', anchor, positive);
  requireEqualShapes('tripletMarginLoss', anchor, negative);
  const distance = (a: Tensor, b: Tensor) => pairwiseDistance(a, b, { p, eps });
  const losses = tripletDifferences([anchor, positive, negative], distance, swap).add(margin).clamp(0);
  return reduced('tripletMarginLoss', losses.value, reduction);
}

/** Options of {@link tripletMarginWithDistanceLoss} and of `nn.TripletMarginWithDistanceLoss`. */
export interface TripletMarginWithDistanceLossOptions extends ReductionOptions {
  /** Distance of two tensors. Default: `pairwiseDistance`. */
  distanceFunction?: (a: Tensor, b: Tensor) => Tensor;
  /** The margin, above 0. Default: 1. */
  margin?: number;
  /**
   * If true, uses the distance of positive and negative where it is smaller than that of anchor and negative. Default: `false`.
   */
  swap?: boolean;
}

/**
 * max(0, d(anchor, positive) − d(anchor, negative) + margin) with any distance d, reduced
 * (torch.nn.functional.triplet_margin_with_distance_loss).
 *
 * - `anchor`: [N, D], like the others
 */
export function tripletMarginWithDistanceLoss(
  ...given: Call<
    [
      anchor: Tensor,
      positive: Tensor,
      negative: Tensor,
      options?: TripletMarginWithDistanceLossOptions | undefined,
    ],
    'F.tripletMarginWithDistanceLoss'
  >
): Tensor {
  const [anchor, positive, negative, options] = arranged('F.tripletMarginWithDistanceLoss', given);
  if (isNarrow(anchor, positive, negative)) {
    return roundedOnce([anchor, positive, negative], (a, p, n) =>
      tripletMarginWithDistanceLoss(a, p, n, options),
    );
  }
  const { distanceFunction, margin = 1, swap = false, reduction = 'mean' } = options;
  requireMargin('tripletMarginWithDistanceLoss', margin);
  const distance = distanceFunction
    ? (a: Tensor, b: Tensor) => inUserFunction(() => distanceFunction(a, b))
    : pairwiseDistance;
  const losses = tripletDifferences([anchor, positive, negative], distance, swap).add(margin).clamp(0);
  return reduced('tripletMarginWithDistanceLoss', losses.value, reduction);
}

/**
 * max(0, −target·(a − b) + margin), reduced (torch.nn.functional.margin_ranking_loss). Default of `margin`: 0.
 *
 * - `a`: as many dimensions as `b` and `target`; shapes broadcast
 * - `target`: 1 if `a` should be larger, −1 if `b` should
 */
export function marginRankingLoss(
  ...given: Call<
    [input1: Tensor, input2: Tensor, target: Tensor, options?: MarginLossOptions | undefined],
    'F.marginRankingLoss'
  >
): Tensor {
  const [givenA, givenB, givenTarget, options] = arranged('F.marginRankingLoss', given);
  const [a, b, target] = autocastTensors('marginRankingLoss', givenA, givenB, givenTarget);
  if (isNarrow(a, b, target)) {
    return roundedOnce([a, b, target], (x, y, t) => marginRankingLoss(x, y, t, options));
  }
  const { margin = 0, reduction = 'mean' } = options;
  if (new Set([a, b, target].map(({ shape }) => shape.length)).size > 1) {
    throw new ShapeError(
      `marginRankingLoss: expected tensors of as many dimensions each, got ${[a, b, target].map(describeType).join(', ')}.`,
    );
  }
  // Not `relu`, whose gradient passes at NaN.
  const losses = target.float().neg().mul(a.sub(b)).add(margin).clamp(0);
  return reduced('marginRankingLoss', losses.value, reduction);
}

/**
 * x where the target is 1, max(0, margin − x) where it is −1, reduced (torch.nn.functional.hinge_embedding_loss). Other
 * targets have the sum of both. Input and target broadcast. Default of `margin`: 1.
 */
export function hingeEmbeddingLoss(
  ...given: Call<
    [input: Tensor, target: Tensor, options?: MarginLossOptions | undefined],
    'F.hingeEmbeddingLoss'
  >
): Tensor {
  const [givenInput, givenTarget, options] = arranged('F.hingeEmbeddingLoss', given);
  const [input, target] = autocastTensors('hingeEmbeddingLoss', givenInput, givenTarget);
  if (isNarrow(input, target)) {
    return roundedOnce([input, target], (x, t) => hingeEmbeddingLoss(x, t, options));
  }
  const { margin = 1, reduction = 'mean' } = options;
  const far = where(target.eq(1), 0, input.neg().add(margin).clamp(0));
  const losses = where(target.eq(-1), 0, input).add(far);
  return reduced('hingeEmbeddingLoss', losses.value, reduction);
}

/** log(1 + exp(−target·input)), reduced (torch.nn.functional.soft_margin_loss). Targets are 1 or −1. */
export function softMarginLoss(
  ...given: Call<[input: Tensor, target: Tensor, options?: ReductionOptions | undefined], 'F.softMarginLoss'>
): Tensor {
  const [givenInput, givenTarget, options] = arranged('F.softMarginLoss', given);
  const [input, target] = autocastTensors('softMarginLoss', givenInput, givenTarget);
  if (isNarrow(input, target)) {
    return roundedOnce([input, target], (x, t) => softMarginLoss(x, t, options));
  }
  requireEqualShapes('softMarginLoss', input, target);
  const losses = softplus(target.neg().mul(input).value);
  return reduced('softMarginLoss', losses, options.reduction ?? 'mean');
}

/** For each triplet, how much farther the positive is than the negative. */
function tripletDifferences(
  [anchor, positive, negative]: readonly [Tensor, Tensor, Tensor],
  distance: (a: Tensor, b: Tensor) => Tensor,
  swap: boolean,
): Tensor {
  const far = distance(anchor, negative);
  const farther = swap ? far.minimum(distance(positive, negative)) : far;
  return distance(anchor, positive).sub(farther);
}

/** @throws ArgumentError unless the margin of a triplet loss is above 0 */
export function requireMargin(name: string, margin = 1): void {
  if (margin <= 0) throw new ArgumentError(`${name}: margin must be above 0, got ${margin}.`);
}
