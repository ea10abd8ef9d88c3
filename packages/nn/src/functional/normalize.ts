import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Options of {@link normalize}. */
export interface NormalizeOptions {
  /** Exponent p of the norm. Default: 2. */
  p?: number;
  /** Dimension to reduce. Default: 1. */
  dim?: number;
  /** Lower bound of the norm, to avoid division by zero. Default: 1e-12. */
  eps?: number;
}

/** Divides vectors along a dimension by their p-norm (torch.nn.functional.normalize). */
export function normalize(
  ...given: Call<[input: Tensor, options?: NormalizeOptions | undefined], 'F.normalize'>
): Tensor {
  const [input, options] = arranged('F.normalize', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => normalize(x, options));
  const { p = 2, dim = 1, eps = 1e-12 } = options;
  return input.div(input.norm(p, [dim], true).clamp(eps));
}
