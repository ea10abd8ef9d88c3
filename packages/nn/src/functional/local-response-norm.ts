import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { cat } from '../tensor/combine.ts';
import { zeros } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Options of {@link localResponseNorm} and of `nn.LocalResponseNorm`. */
export interface LocalResponseNormOptions {
  /** Factor of the mean square. Default: 1e-4. */
  alpha?: number;
  /** Exponent. Default: 0.75. */
  beta?: number;
  /** Added to the mean square. Default: 1. */
  k?: number;
}

/**
 * x / (k + alpha·mean of the squares of `size` neighbouring channels)^beta (torch.nn.functional.local_response_norm;
 * Krizhevsky and others, 2012).
 *
 * - `input`: [N, C, ...]
 */
export function localResponseNorm(
  ...given: Call<
    [input: Tensor, size: number, options?: LocalResponseNormOptions | undefined],
    'F.localResponseNorm'
  >
): Tensor {
  const [channels, size, options] = arranged('F.localResponseNorm', given);
  // torch averages the channels of images and volumes by avg_pool3d.
  const [input] = channels.shape.length > 3 ? autocastTensors('avgPool3d', channels) : [channels];
  if (isNarrow(input)) return roundedOnce([input], (x) => localResponseNorm(x, size, options));
  const { alpha = 1e-4, beta = 0.75, k = 1 } = options;
  const { shape } = input;
  if (!isFloat(input) || shape.length < 3 || !Number.isInteger(size) || size < 1) {
    throw new ShapeError(
      `localResponseNorm: expected float32[N,C,…] of at least 3 dimensions and a size from 1, got ${describeType(input)} and ${size}.`,
    );
  }
  const border = (count: number) => zeros(shape.with(1, count));
  const padded = cat([border(Math.floor(size / 2)), input.square(), border(Math.floor((size - 1) / 2))], 1);
  const mean = padded.unfold(1, size, 1).mean([-1]);
  return input.div(mean.mul(alpha).add(k).pow(beta));
}
