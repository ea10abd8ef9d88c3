import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Options of {@link rmsNorm}. */
export interface RMSNormOptions {
  /** Added to the mean of the squares. Default: 2⁻²³, the precision of float32, as in torch. */
  eps?: number | undefined;
}

const rmsNormOptions: OptionNames<RMSNormOptions> = { eps: true };

/**
 * x / √(mean(x²) + eps)·weight over the last dimensions (torch.nn.functional.rms_norm; Zhang and Sennrich, 2019).
 *
 * @param input […, ...normalizedShape]
 * @param weight [...normalizedShape]. Default: 1.
 */
export function rmsNorm(
  input: Tensor,
  normalizedShape: readonly number[],
  weight?: Tensor,
  options: RMSNormOptions = {},
): Tensor {
  requireOptions('rmsNorm', options, rmsNormOptions);
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
