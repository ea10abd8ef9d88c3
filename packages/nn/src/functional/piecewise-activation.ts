import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isNarrow, roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import { isFloat } from '../dtype.ts';
import { where } from '../tensor/combine.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { neg, requireFloat } from '../ops/elementwise.ts';
import { softplus as softplusOf } from '../ops/functions.ts';
import { Tensor } from '../tensor/tensor.ts';

// Activations of several pieces or several steps, elementwise.

/** x if x > 0, else alpha·(exp x − 1) (torch.nn.functional.elu; Clevert and others, 2016). */
export function elu(...given: Call<[input: Tensor, alpha?: number | undefined], 'F.elu'>): Tensor {
  const [input, alpha = 1] = arranged('F.elu', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => elu(x, alpha));
  requireFloat('elu', input.value);
  const isBelow = input.le(0);
  // The unused branch must not overflow: its gradient would be 0·∞. NaN is above: its gradient is 1.
  const below = where(isBelow, input, 0).exp().sub(1).mul(alpha);
  return where(isBelow, below, input);
}

/** 1.0507·elu(x, 1.6733), which keeps mean 0 and variance 1 (torch.nn.functional.selu; Klambauer and others, 2017). */
export function selu(...given: Call<[input: Tensor], 'F.selu'>): Tensor {
  const [input] = arranged('F.selu', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => selu(x));
  requireFloat('selu', input.value);
  return elu(input, 1.6732632423543772).mul(1.0507009873554805);
}

/** x if x > 0, else alpha·(exp(x/alpha) − 1) (torch.nn.functional.celu; Barron, 2017). */
export function celu(...given: Call<[input: Tensor, alpha?: number | undefined], 'F.celu'>): Tensor {
  const [input, alpha = 1] = arranged('F.celu', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => celu(x, alpha));
  requireFloat('celu', input.value);
  if (alpha === 0) throw new ArgumentError('celu: alpha must not be 0.');
  const isBelow = input.le(0);
  const below = where(isBelow, input, 0).div(alpha).exp().sub(1).mul(alpha);
  return where(isBelow, below, input);
}

/**
 * max(min(x, max), min) (torch.nn.functional.hardtanh). The gradient is 0 at the limits, and 1 at NaN. Integers stay integers:
 * the limits are truncated.
 */
export function hardtanh(
  ...given: Call<[input: Tensor, minVal?: number | undefined, maxVal?: number | undefined], 'F.hardtanh'>
): Tensor {
  const [input, min = -1, max = 1] = arranged('F.hardtanh', given);
  if (min > max) throw new ArgumentError(`hardtanh: min must be at most max, got ${min} and ${max}.`);
  const [least, most] = [min, max].map((limit) => numberLike('hardtanh', input, limit));
  const isOutside = input.le(least).logicalOr(input.ge(most));
  return where(isOutside, input.detach().clamp(least, most), input);
}

/** min(max(x, 0), 6) (torch.nn.functional.relu6). */
export function relu6(...given: Call<[input: Tensor], 'F.relu6'>): Tensor {
  const [input] = arranged('F.relu6', given);
  return hardtanh(input, 0, 6);
}

/** min(max(x + 3, 0), 6) / 6 (torch.nn.functional.hardsigmoid; Howard and others, 2019). */
export function hardsigmoid(...given: Call<[input: Tensor], 'F.hardsigmoid'>): Tensor {
  const [input] = arranged('F.hardsigmoid', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => hardsigmoid(x));
  requireFloat('hardsigmoid', input.value);
  const isInside = input.abs().lt(3);
  return where(isInside, input, input.detach().clamp(-3, 3)).add(3).div(6);
}

/** x·hardsigmoid(x) (torch.nn.functional.hardswish; Howard and others, 2019). The gradient is 0 at −3 and 1 at 3. */
export function hardswish(...given: Call<[input: Tensor], 'F.hardswish'>): Tensor {
  const [input] = arranged('F.hardswish', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => hardswish(x));
  requireFloat('hardswish', input.value);
  // Without infinities, whose gradient would be 0·∞.
  const inside = where(input.abs().lt(3), input, 0);
  const curve = inside.mul(inside.add(3)).div(6);
  const none = input.detach().mul(0);
  return where(input.le(-3), none, where(input.lt(3), curve, input));
}

/** Options of {@link softplus} and of `nn.Softplus`. */
export interface SoftplusOptions {
  /** Default: 1. */
  beta?: number;
  /** Where beta·x is above the threshold, the function is x. Default: 20. */
  threshold?: number;
}

/** log(1 + exp(beta·x)) / beta (torch.nn.functional.softplus). */
export function softplus(
  ...given: Call<[input: Tensor, options?: SoftplusOptions | undefined], 'F.softplus'>
): Tensor {
  const [input, options] = arranged('F.softplus', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => softplus(x, options));
  requireFloat('softplus', input.value);
  const { beta = 1, threshold: limit = 20 } = options;
  const scaled = input.mul(beta);
  return where(scaled.gt(limit), input, new Tensor(softplusOf(scaled.value)).div(beta));
}

/** x / (1 + |x|) (torch.nn.functional.softsign). */
export function softsign(...given: Call<[input: Tensor], 'F.softsign'>): Tensor {
  const [input] = arranged('F.softsign', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => softsign(x));
  return input.div(input.abs().add(1));
}

/** log(1 / (1 + exp(−x))) (torch.nn.functional.logsigmoid). */
export function logsigmoid(...given: Call<[input: Tensor], 'F.logsigmoid'>): Tensor {
  const [input] = arranged('F.logsigmoid', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => logsigmoid(x));
  requireFloat('logsigmoid', input.value);
  return new Tensor(neg(softplusOf(neg(input.value))));
}

/** x·tanh(softplus(x)) (torch.nn.functional.mish; Misra, 2019). */
export function mish(...given: Call<[input: Tensor], 'F.mish'>): Tensor {
  const [input] = arranged('F.mish', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => mish(x));
  requireFloat('mish', input.value);
  return input.mul(softplus(input).tanh());
}

/** x − tanh x (torch.nn.functional.tanhshrink). */
export function tanhshrink(...given: Call<[input: Tensor], 'F.tanhshrink'>): Tensor {
  const [input] = arranged('F.tanhshrink', given);
  if (isNarrow(input)) return roundedOnce([input], (x) => tanhshrink(x));
  return input.sub(input.tanh());
}

/** x moved towards 0 by lambda; 0 in [−lambda, lambda] (torch.nn.functional.softshrink). */
export function softshrink(
  ...given: Call<[input: Tensor, lambd?: number | undefined], 'F.softshrink'>
): Tensor {
  const [input, lambda = 0.5] = arranged('F.softshrink', given);
  requireLambda('softshrink', lambda);
  requireFloat('softshrink', input.value);
  const outside = where(input.gt(0), input.sub(lambda), input.add(lambda));
  return where(input.abs().le(lambda), input.detach().mul(0), outside);
}

/** x outside of [−lambda, lambda], else 0 (torch.nn.functional.hardshrink). */
export function hardshrink(
  ...given: Call<[input: Tensor, lambd?: number | undefined], 'F.hardshrink'>
): Tensor {
  const [input, lambda = 0.5] = arranged('F.hardshrink', given);
  requireLambda('hardshrink', lambda);
  requireFloat('hardshrink', input.value);
  return where(input.abs().le(lambda), 0, input);
}

/** x if x > limit, else value (torch.nn.functional.threshold). NaN stays. Integers stay integers: both numbers are truncated. */
export function threshold(
  ...given: Call<[input: Tensor, threshold: number, value: number], 'F.threshold'>
): Tensor {
  const [input, limit, value] = arranged('F.threshold', given);
  const [most, other] = [limit, value].map((one) => numberLike('threshold', input, one));
  return where(input.le(most), other, input);
}

/**
 * x if x > 0, else weight·x (torch.nn.functional.prelu; He and others, 2015).
 *
 * - `weight`: [1], or one number for each channel, the second dimension
 */
export function prelu(...given: Call<[input: Tensor, weight: Tensor], 'F.prelu'>): Tensor {
  const [input, weight] = arranged('F.prelu', given);
  requireFloat('prelu', input.value);
  const rank = input.shape.length;
  const channels = rank > 1 ? input.shape[1] : 1;
  const count = weight.numel();
  if (weight.shape.length > 1 || (count !== 1 && count !== channels)) {
    throw new ShapeError(
      `prelu: expected one slope or ${channels} for ${describeType(input)}, got ${describeType(weight)}.`,
    );
  }
  const slopes = weight.view(...(count === 1 ? [] : [-1, ...Array<number>(rank - 2).fill(1)]));
  const [x, slope] = autocastTensors('prelu', input, slopes);
  const isAbove = x.gt(0);
  // The product leaves out elements above 0: an infinite one would make the slopes' gradient ∞·0 = NaN.
  return where(isAbove, x, where(isAbove, 0, x).mul(slope));
}

/** A number in the dtype of the input. */
function numberLike(name: string, input: Tensor, number: number): number {
  if (isFloat(input)) return number;
  if (input.dtype === 'bool') {
    throw new ShapeError(`${name}: expected float32 or int64, got ${describeType(input)}.`);
  }
  const integer = Math.trunc(number);
  if (Math.abs(integer) < 2 ** 63) return integer;
  throw new ArgumentError(`${name}: expected numbers in the range of ${describeType(input)}, got ${number}.`);
}

function requireLambda(where: string, lambda: number): void {
  if (!(lambda >= 0)) throw new ArgumentError(`${where}: lambda must be at least 0, got ${lambda}.`);
}
