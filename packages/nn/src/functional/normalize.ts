import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
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

const normalizeOptions: OptionNames<NormalizeOptions> = { p: true, dim: true, eps: true };

/** Divides vectors along a dimension by their p-norm (torch.nn.functional.normalize). */
export function normalize(input: Tensor, options: NormalizeOptions = {}): Tensor {
  requireOptions('normalize', options, normalizeOptions);
  if (isNarrow(input)) return roundedOnce([input], (x) => normalize(x, options));
  const { p = 2, dim = 1, eps = 1e-12 } = options;
  return input.div(input.norm(p, [dim], true).clamp(eps));
}
