import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { layerNormalize } from '../ops/own/layer-normalize.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Options of {@link layerNorm}. */
export interface NormalizationOptions {
  /** Added to the variance. Default: 1e-5. */
  eps?: number;
}

/**
 * (x − mean) / √(variance + eps)·weight + bias over the last dimensions (torch.nn.functional.layer_norm; Ba, Kiros and Hinton, 2016).
 *
 * - `input`: […, ...normalizedShape]
 * - `weight`: [...normalizedShape]. Default: 1.
 * - `bias`: [...normalizedShape]. Default: 0.
 */
export function layerNorm(
  ...given: Call<
    [
      input: Tensor,
      normalizedShape: readonly number[],
      weight?: Tensor | undefined,
      bias?: Tensor | undefined,
      options?: NormalizationOptions | undefined,
    ],
    'F.layerNorm'
  >
): Tensor {
  const [input, normalizedShape, weight, bias, options] = arranged('F.layerNorm', given);
  const { eps = 1e-5 } = options;
  const expected = normalizedShape.join();
  const count = normalizedShape.length;
  if (
    count === 0 ||
    !isFloat(input) ||
    input.shape.length < count ||
    input.shape.slice(-count).join() !== expected
  ) {
    throw new ShapeError(
      `layerNorm: expected float32[…,${expected}] for a normalized shape of [${expected}], got ${describeType(input)}.`,
    );
  }
  for (const [name, given] of Object.entries({ weight, bias })) {
    if (given !== undefined && (!isFloat(given) || given.shape.join() !== expected)) {
      throw new ShapeError(
        `layerNorm: ${name} must have the normalized shape, float32[${expected}], got ${describeType(given)}.`,
      );
    }
  }
  return new Tensor(layerNormalize(input.value, count, eps, weight?.value, bias?.value));
}
