import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Options of {@link rmsNorm}. */
export interface RMSNormOptions {
  /** Added to the mean of the squares. Default: 2⁻²³, the precision of float32, as in torch. */
  eps?: number | undefined;
}

/**
 * x / √(mean(x²) + eps)·weight over the last dimensions (torch.nn.functional.rms_norm; Zhang and Sennrich, 2019).
 *
 * - `input`: […, ...normalizedShape]
 * - `weight`: [...normalizedShape]. Default: 1.
 */
export function rmsNorm(
  ...given: Call<
    [
      input: Tensor,
      normalizedShape: readonly number[],
      weight?: Tensor | undefined,
      options?: RMSNormOptions | undefined,
    ],
    'F.rmsNorm'
  >
): Tensor {
  const [input, normalizedShape, weight, options] = arranged('F.rmsNorm', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => rmsNorm(x, normalizedShape, weight, options));
  const count = normalizedShape.length;
  if (count === 0 || input.shape.slice(-count).join() !== normalizedShape.join()) {
    throw new ShapeError(
      `rmsNorm: expected float32[…,${normalizedShape.join()}], got ${describeType(input)}.`,
    );
  }
  const axes = normalizedShape.map((_, axis) => axis - count);
  const size = input.square().mean(axes, true);
  const normalized = input.mul(size.add(options.eps ?? 2 ** -23).rsqrt());
  return weight ? normalized.mul(weight) : normalized;
}
