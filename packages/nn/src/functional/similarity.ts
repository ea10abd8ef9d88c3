import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { broadcastShape } from '../ops/broadcast.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { withGradientOf } from './straight-through.ts';

/** Options of {@link cosineSimilarity} and of `nn.CosineSimilarity`. */
export interface CosineSimilarityOptions {
  /** Dimension along which similarity is computed. Default: 1. */
  dim?: number;
  /** Lower bound of each vector's norm, to avoid division by zero. Default: 1e-8. */
  eps?: number;
}

/** Options of {@link pairwiseDistance} and of `nn.PairwiseDistance`. */
export interface PairwiseDistanceOptions {
  /** Exponent p of the norm. Default: 2. */
  p?: number;
  /** Added to each difference. Default: 1e-6. */
  eps?: number;
  /** If true, keeps the last dimension with size 1. Default: `false`. */
  keepdim?: boolean;
}

/**
 * (a/‖a‖)·(b/‖b‖) of vectors along `dim` (torch.nn.functional.cosine_similarity), with norms of at least eps. Shapes
 * broadcast, and `dim` is a dimension of the broadcast shape.
 */
export function cosineSimilarity(
  ...given: Call<
    [x1: Tensor, x2: Tensor, options?: CosineSimilarityOptions | undefined],
    'F.cosineSimilarity'
  >
): Tensor {
  const [a, b, options] = arranged('F.cosineSimilarity', given);
  if (isNarrow(a, b)) return roundedOnce([a, b], (x, y) => cosineSimilarity(x, y, options));
  const { dim = 1, eps = 1e-8 } = options;
  const shape = broadcastShape('cosineSimilarity', a.value, b.value);
  const [left, right] = [a, b].map((vectors) => {
    const wide = vectors.expand(...shape);
    const length = wide.norm(2, [dim], true);
    // torch clamps the norm in place, without a gradient.
    return wide.div(withGradientOf(length.clamp(eps), length));
  });
  return left.mul(right).sum([dim]);
}

/** ‖a − b + eps‖ along the last dimension (torch.nn.functional.pairwise_distance); shapes broadcast. */
export function pairwiseDistance(
  ...given: Call<
    [x1: Tensor, x2: Tensor, options?: PairwiseDistanceOptions | undefined],
    'F.pairwiseDistance'
  >
): Tensor {
  const [a, b, options] = arranged('F.pairwiseDistance', given);
  if (isNarrow(a, b)) return roundedOnce([a, b], (x, y) => pairwiseDistance(x, y, options));
  const { p = 2, eps = 1e-6, keepdim = false } = options;
  return a.sub(b).add(eps).norm(p, [-1], keepdim);
}
