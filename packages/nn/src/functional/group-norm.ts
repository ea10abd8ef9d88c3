import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { layerNormalize } from '../ops/own/layer-normalize.ts';
import { affine } from '../ops/batch-normalization.ts';
import { Tensor } from '../tensor/tensor.ts';
import { full } from '../tensor/creation.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import type { NormalizationOptions } from './normalization.ts';

/**
 * (x − mean) / √(variance + eps)·weight + bias over groups of channels of each sample (torch.nn.functional.group_norm; Wu and
 * He, 2018).
 *
 * - `input`: [N, C] or [N, C, …]
 * - `numGroups`: divides C
 * - `weight`: [C]. Default: 1.
 * - `bias`: [C]. Default: 0.
 */
export function groupNorm(
  ...given: Call<
    [
      input: Tensor,
      numGroups: number,
      weight?: Tensor | undefined,
      bias?: Tensor | undefined,
      options?: NormalizationOptions | undefined,
    ],
    'F.groupNorm'
  >
): Tensor {
  const [input, numGroups, weight, bias, options] = arranged('F.groupNorm', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => groupNorm(x, numGroups, weight, bias, options));
  const { eps = 1e-5 } = options;
  const { shape } = input;
  requirePositiveInteger('groupNorm', { numGroups });
  const isEmpty = shape.slice(1).includes(0);
  if (!isFloat(input) || shape.length < 2 || isEmpty || shape[1] % numGroups !== 0) {
    throw new ShapeError(
      `groupNorm: expected float32[N,C,…] with a multiple of ${numGroups} channels, at least one, of at least one element each, got ${describeType(input)}.`,
    );
  }
  return normalizedBy('groupNorm', input, rowsOf(input, numGroups), { weight, bias, eps });
}

/**
 * Like `groupNorm` with one channel per group (torch.nn.functional.instance_norm; Ulyanov and others, 2016), by the statistics of
 * each sample.
 *
 * - `input`: [N, C, …] with more than one element in each channel
 * - `weight`: [C]. Default: 1.
 * - `bias`: [C]. Default: 0.
 */
export function instanceNorm(
  ...given: Call<
    [
      input: Tensor,
      weight?: Tensor | undefined,
      bias?: Tensor | undefined,
      options?: NormalizationOptions | undefined,
    ],
    'F.instanceNorm'
  >
): Tensor {
  const [input, weight, bias, options] = arranged('F.instanceNorm', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => instanceNorm(x, weight, bias, options));
  const { shape } = input;
  if (!isFloat(input) || shape.length < 3) {
    throw new ShapeError(`instanceNorm: expected float32[N,C,…], got ${describeType(input)}.`);
  }
  if (shape.slice(2).every((size) => size === 1)) {
    throw new ArgumentError(
      `instanceNorm: expected more than one element in each channel, got ${describeType(input)}.`,
    );
  }
  const { eps = 1e-5 } = options;
  return normalizedBy('instanceNorm', input, rowsOf(input, shape[1]), { weight, bias, eps });
}

/** [N, groups, …]. For an empty tensor, the last length cannot be inferred. */
function rowsOf(input: Tensor, groups: number): Tensor {
  const [count, ...rest] = input.shape;
  const length = sizeOf(input.shape) > 0 ? -1 : sizeOf(rest) / Math.max(groups, 1);
  return input.view(count, groups, length);
}

/** Normalizes the rows of `grouped`, which has the elements of the input, then scales each channel. */
function normalizedBy(
  name: string,
  input: Tensor,
  grouped: Tensor,
  { weight, bias, eps }: { weight: Tensor | undefined; bias: Tensor | undefined; eps: number },
): Tensor {
  const channels = input.shape[1];
  for (const [what, given] of Object.entries({ weight, bias })) {
    if (given !== undefined && given.shape.join() !== String(channels)) {
      throw new ShapeError(
        `${name}: expected a ${what} float32[${channels}] for ${describeType(input)}, got ${describeType(given)}.`,
      );
    }
  }
  const rows = new Tensor(layerNormalize(grouped.value, 1, eps, undefined, undefined));
  const whole = rows.view(...input.shape);
  if (weight === undefined && bias === undefined) return whole;
  const scale = weight ?? full([channels], 1);
  const shift = bias ?? full([channels], 0);
  return new Tensor(affine(whole.value, scale.value, shift.value));
}
