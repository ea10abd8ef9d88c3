import { ShapeError } from '../errors.ts';
import { describeType, type Value } from '../graph/node.ts';
import { normalizeAxes } from './axes.ts';
import { add, cast, detach, div, equal, exp, log, mul, sqrt, sub, where } from './elementwise.ts';
import { abs, pow } from './functions.ts';
import { reduceMax, reduceMean, reduceMin, reduceSum } from './reduction.ts';
import { concat, expand, reshape, slice } from './shape.ts';
import { constant } from './source.ts';

/** Σ(x − mean)² / (n − correction) over axes (torch.var). Default: all axes. */
export function variance(
  value: Value,
  axes: readonly number[] | undefined,
  correction: number,
  keepdims: boolean,
): Value {
  const count = countOf('var', value, axes);
  // The differences have the sum 0, so the gradient of the mean is 0.
  const centered = sub(value, detach(reduceMean(value, axes, true)));
  const squares = reduceSum(mul(centered, centered), axes, keepdims);
  // NaN or infinity for one element, as in torch.
  return div(squares, constant(Math.max(0, count - correction)));
}

/** (Σ|x|ᵖ)^(1/p) over axes (torch.linalg.vector_norm). p = Infinity: the largest |x|; 0: the number of elements that are not 0. */
export function norm(value: Value, p: number, axes: readonly number[] | undefined, keepdims: boolean): Value {
  if (Number.isNaN(p)) throw new ShapeError('norm: expected a number p, got NaN.');
  if (p === Infinity) return reduceMax(abs(value), axes, keepdims);
  if (p === -Infinity) return reduceMin(abs(value), axes, keepdims);
  if (p === 0) {
    const ones = sub(constant(1), cast(equal(value, constant(0)), 'float32'));
    return reduceSum(ones, axes, keepdims);
  }
  if (p === 1) return reduceSum(abs(value), axes, keepdims);
  // Below 1, the slope of |x|ᵖ at 0 is infinite; torch takes 0.
  const isNone = p < 1 ? equal(value, constant(0)) : undefined;
  const size = isNone ? where(isNone, constant(1), abs(value)) : abs(value);
  const powers = p === 2 ? mul(value, value) : pow(size, p);
  const none = constant(p < 0 ? Infinity : 0);
  const total = reduceSum(isNone ? where(isNone, none, powers) : powers, axes, keepdims);
  if (p < 0) return pow(total, 1 / p);
  return withoutSlopeAt0(total, (positive) => (p === 2 ? sqrt(positive) : pow(positive, 1 / p)));
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

/** A root, whose gradient at 0 is 0 instead of NaN. */
function withoutSlopeAt0(value: Value, root: (positive: Value) => Value): Value {
  const isZero = equal(value, constant(0));
  return where(isZero, constant(0), root(where(isZero, constant(1), value)));
}

/** log Σ exp x over axes (torch.logsumexp), without overflow. */
export function logSumExp(value: Value, axes: readonly number[] | undefined, keepdims: boolean): Value {
  if (countOf('logsumexp', value, axes) === 0) return log(reduceSum(exp(value), axes, keepdims));
  const largest = detach(reduceMax(value, axes, true));
  // Of infinities the difference would be NaN.
  const shift = where(equal(abs(largest), constant(Infinity)), constant(0), largest);
  const sum = log(reduceSum(exp(sub(value, shift)), axes, keepdims));
  return add(sum, reshape(shift, sum.shape));
}

/**
 * Product along an axis, which is removed (torch.prod). Multiplies halves in log₂ n operations, so that the gradient is
 * exact also where elements are 0.
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
  if (value.dtype !== 'float32') throw new ShapeError(`${op}: expected float32, got ${describeType(value)}.`);
  const reduced = axes === undefined ? [...value.shape.keys()] : normalizeAxes(op, axes, value);
  return reduced.reduce((count, axis) => count * value.shape[axis], 1);
}
