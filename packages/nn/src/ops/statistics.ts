import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { dependsOnParameter } from '../graph/topology.ts';
import { normalizeAxes } from './axes.ts';
import {
  add,
  cast,
  detach,
  div,
  equal,
  exp,
  isNaN,
  log,
  mul,
  requireFloat,
  sqrt,
  sub,
  where,
} from './elementwise.ts';
import { abs, pow, sign } from './functions.ts';
import { reduceMax, reduceMean, reduceMin, reduceSum } from './reduction.ts';
import { concat, expand, reshape, slice } from './shape.ts';
import { constant } from './source.ts';
import { withSlopes } from './with-slope.ts';

/** Σ(x − mean)² / (n − correction) over axes (torch.var). Default: all axes. */
export function variance(
  value: Value,
  axes: readonly number[] | undefined,
  correction: number,
  keepdims: boolean,
): Value {
  const count = countOf('var', value, axes);
  const centered = sub(value, reduceMean(value, axes, true));
  const squares = reduceSum(mul(centered, centered), axes, true);
  // The differences sum to 0, so the gradient of the mean is 0.
  const sums = withSlopes(squares, [value, mul(centered, constant(2))]);
  const shaped = keepdims ? sums : reshape(sums, reduceSum(value, axes, false).shape);
  // As in torch, NaN or infinity for one element.
  return div(shaped, constant(Math.max(0, count - correction)));
}

/** (Σ|x|ᵖ)^(1/p) over axes (torch.linalg.vector_norm). p = Infinity: the largest |x|; 0: the number of nonzero elements. */
export function norm(value: Value, p: number, axes: readonly number[] | undefined, keepdims: boolean): Value {
  requireFloat('norm', value);
  if (Number.isNaN(p)) throw new ShapeError('norm: expected a number p, got NaN.');
  if (p === Infinity) return extremeSize(reduceMax, value, axes, keepdims);
  if (p === -Infinity) return extremeSize(reduceMin, value, axes, keepdims);
  if (p === 0) {
    const ones = sub(constant(1), cast(equal(value, constant(0)), 'float32'));
    return reduceSum(ones, axes, keepdims);
  }
  if (p === 1) return reduceSum(abs(value), axes, keepdims);
  const powers = p === 2 ? mul(value, value) : p < 1 ? flatAt0(value, p) : pow(abs(value), p);
  const total = reduceSum(powers, axes, keepdims);
  if (p < 0) return pow(total, 1 / p);
  return withoutSlopeAt0(total, (positive) => (p === 2 ? sqrt(positive) : pow(positive, 1 / p)));
}

/** |x|ᵖ for p below 1 with slope 0 at 0, as in torch, instead of ∞. The mask is a factor, so that a NaN gradient stays NaN. */
function flatAt0(value: Value, p: number): Value {
  const isZero = equal(value, constant(0));
  const size = where(isZero, constant(1), abs(value));
  const slope = mul(mul(pow(size, p - 1), constant(p)), sign(value));
  return withSlopes(pow(abs(value), p), [value, slope]);
}

/** The largest or smallest |x|. If an element is NaN, the gradient is 0, as in torch. */
function extremeSize(
  extreme: typeof reduceMax,
  value: Value,
  axes: readonly number[] | undefined,
  keepdims: boolean,
): Value {
  const sizes = abs(value);
  if (!dependsOnParameter(value)) return extreme(sizes, axes, keepdims);
  const hasNaN = isNaN(detach(reduceMax(sizes, axes, true)));
  return extreme(where(hasNaN, constant(NaN), sizes), axes, keepdims);
}

/** The square root of the variance. Its gradient is 0 where all elements are equal, as in torch. */
export function standardDeviation(
  value: Value,
  axes: readonly number[] | undefined,
  correction: number,
  keepdims: boolean,
): Value {
  return withoutSlopeAt0(variance(value, axes, correction, keepdims), sqrt);
}

/** The square root, whose gradient at 0 is 0 instead of NaN. */
function withoutSlopeAt0(value: Value, root: (positive: Value) => Value): Value {
  const isZero = equal(value, constant(0));
  return where(isZero, constant(0), root(where(isZero, constant(1), value)));
}

/** log Σ exp x over axes (torch.logsumexp), without overflow. */
export function logSumExp(value: Value, axes: readonly number[] | undefined, keepdims: boolean): Value {
  if (countOf('logsumexp', value, axes) === 0) return log(reduceSum(exp(value), axes, keepdims));
  const largest = detach(reduceMax(value, axes, true));
  // The difference of infinities would be NaN.
  const shift = where(equal(abs(largest), constant(Infinity)), constant(0), largest);
  const whole = add(log(reduceSum(exp(sub(value, shift)), axes, true)), shift);
  // Not the gradient of the shifted sum: as in torch, each of several equal large elements has slope 1.
  const result = withSlopes(whole, [value, exp(sub(value, whole))]);
  return reshape(result, reduceSum(value, axes, keepdims).shape);
}

/**
 * Product along an axis, which is removed (torch.prod). Multiplies halves in log₂ n operations, so that the gradient is
 * exact even where elements are 0.
 */
export function product(of: Value, axis: number): Value {
  const value = of.dtype === 'bool' ? cast(of, 'int64') : of;
  const size = value.shape[axis];
  if (size === 0) return expand(cast(constant(1), value.dtype), value.shape.toSpliced(axis, 1));
  if (size === 1) return reshape(value, value.shape.toSpliced(axis, 1));
  const half = Math.floor(size / 2);
  const halves = mul(slice(value, axis, 0, half), slice(value, axis, half, 2 * half));
  if (size % 2 === 0) return product(halves, axis);
  return product(concat([halves, slice(value, axis, size - 1, size)], axis), axis);
}

function countOf(op: string, value: Value, axes: readonly number[] | undefined): number {
  if (!isFloat(value)) throw new ShapeError(`${op}: expected float32, got ${describeType(value)}.`);
  const reduced = axes === undefined ? [...value.shape.keys()] : normalizeAxes(op, axes, value);
  return reduced.reduce((count, axis) => count * value.shape[axis], 1);
}
