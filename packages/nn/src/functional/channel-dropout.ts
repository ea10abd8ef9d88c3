import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { ones } from '../tensor/creation.ts';
import { requireOptions } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { dropout, dropoutOptions, requireProbability, type DropoutOptions } from './dropout.ts';

/**
 * Zeroes whole channels of [N, C, L] with probability p and divides the others by 1 − p (torch.nn.functional.dropout1d;
 * Tompson and others, 2015). Default of `p`: 0.5.
 */
export function dropout1d(
  ...given: Call<[input: Tensor, p?: number | undefined, options?: DropoutOptions | undefined], 'F.dropout1d'>
): Tensor {
  const [input, p = 0.5, options] = arranged('F.dropout1d', given);
  return dropChannels('dropout1d', input, 3, p, options);
}

/** `dropout1d` of the channels of [N, C, H, W] (torch.nn.functional.dropout2d). Default of `p`: 0.5. */
export function dropout2d(
  ...given: Call<[input: Tensor, p?: number | undefined, options?: DropoutOptions | undefined], 'F.dropout2d'>
): Tensor {
  const [input, p = 0.5, options] = arranged('F.dropout2d', given);
  return dropChannels('dropout2d', input, 4, p, options);
}

/** `dropout1d` of the channels of [N, C, D, H, W] (torch.nn.functional.dropout3d). Default of `p`: 0.5. */
export function dropout3d(
  ...given: Call<[input: Tensor, p?: number | undefined, options?: DropoutOptions | undefined], 'F.dropout3d'>
): Tensor {
  const [input, p = 0.5, options] = arranged('F.dropout3d', given);
  return dropChannels('dropout3d', input, 5, p, options);
}

/**
 * Dropout that keeps mean 0 and variance 1 of the elements, for networks with SELU (torch.nn.functional.alpha_dropout;
 * Klambauer and others, 2017). Default of `p`: 0.5.
 */
export function alphaDropout(
  ...given: Call<
    [input: Tensor, p?: number | undefined, options?: DropoutOptions | undefined],
    'F.alphaDropout'
  >
): Tensor {
  const [input, p = 0.5, options] = arranged('F.alphaDropout', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => alphaDropout(x, p, options));

  requireProbability('alphaDropout', p);
  if (options.training === false || p === 0) return input;
  if (p === 1) return input.mul(0);
  // SELU's value for −∞, which replaces the elements that are dropped.
  const saturation = -1.7580993408473766;
  const scale = 1 / Math.sqrt((1 - p) * (1 + p * saturation * saturation));
  const kept = dropout(ones(input.shape), p).mul(1 - p);
  const replaced = kept.mul(-saturation).add(saturation);
  return input
    .mul(kept)
    .add(replaced)
    .mul(scale)
    .add(-scale * p * saturation);
}

function dropChannels(op: string, input: Tensor, rank: number, p: number, options: DropoutOptions): Tensor {
  if (isNarrow(input)) return roundedOnce([input], (x) => dropChannels(op, x, rank, p, options));
  requireOptions(op, options, dropoutOptions);
  requireProbability(op, p);
  const { shape } = input;
  if (shape.length !== rank && shape.length !== rank - 1) {
    throw new ShapeError(
      `${op}: expected ${rank} dimensions, or ${rank - 1} without a batch, got ${describeType(input)}.`,
    );
  }
  if (options.training === false || p === 0) return input;
  const channels = shape.map((size, axis) => (axis < shape.length - rank + 2 ? size : 1));
  return input.mul(dropout(ones(channels), p));
}
