import { autocastValues } from './autocast.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { normalizeAxis } from '../ops/axes.ts';
import { cumulativeSum } from '../ops/cumulative.ts';
import * as elementwise from '../ops/elementwise.ts';
import { gatherElements } from '../ops/indexing.ts';
import { argMax, argMin, topK } from '../ops/ordering.ts';
import { reduceMax, reduceMean, reduceMin, reduceSum } from '../ops/reduction.ts';
import { flatten, reshape, slice, unsqueeze } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { logSoftmax, softmax } from '../ops/softmax.ts';
import { logSumExp, norm, product, standardDeviation, variance } from '../ops/statistics.ts';
import { withSlopes } from '../ops/with-slope.ts';
import { ShapeMethods } from './shape-methods.ts';
import { allIfNone, apply } from './tensor-methods.ts';

/** Elements and their positions (int64). */
export interface ValuesAndIndices<Tensor> {
  /** The elements, with gradients. */
  values: Tensor;
  /** Their positions along the dimension, of the same shape. */
  indices: Tensor;
}

/** Functions over or along dimensions: sums, extremes, order, statistics. NaN counts as larger than every number. */
export abstract class ReductionMethods<Tensor extends ReductionMethods<Tensor>> extends ShapeMethods<Tensor> {
  /** Sum over `axes`; negative axes count from the last. Default: all axes. As in torch, an empty list also means all axes. */
  sum(axes?: readonly number[], keepdims = false): Tensor {
    return this.of(reduceSum(this.value, allIfNone(axes), keepdims));
  }

  /** Mean over `axes` (torch.mean); see `sum`. */
  mean(axes?: readonly number[], keepdims = false): Tensor {
    return this.of(reduceMean(this.value, allIfNone(axes), keepdims));
  }

  /** The largest element (torch.max). Equal elements share the gradient. */
  max(): Tensor;
  /** The largest elements along `dim`, and the positions of the first of them. */
  max(dim: number, keepdims?: boolean): ValuesAndIndices<Tensor>;
  max(dim?: number, keepdims = false): Tensor | ValuesAndIndices<Tensor> {
    if (dim === undefined) return this.of(reduceMax(this.value));
    const { values, indices } = extreme(argMax, 'max', this.value, dim, keepdims);
    return { values: this.of(values), indices: this.of(indices) };
  }

  /** The smallest element (torch.min). Equal elements share the gradient. */
  min(): Tensor;
  /** The smallest elements along `dim`, and the positions of the first of them. */
  min(dim: number, keepdims?: boolean): ValuesAndIndices<Tensor>;
  min(dim?: number, keepdims = false): Tensor | ValuesAndIndices<Tensor> {
    if (dim === undefined) return this.of(reduceMin(this.value));
    const { values, indices } = extreme(argMin, 'min', this.value, dim, keepdims);
    return { values: this.of(values), indices: this.of(indices) };
  }

  /** Largest element over `axes` (torch.amax); see `sum`. Equal elements share the gradient. */
  amax(axes?: readonly number[], keepdims = false): Tensor {
    return this.of(reduceMax(this.value, allIfNone(axes), keepdims));
  }

  /** Smallest element over `axes` (torch.amin); see `sum`. Equal elements share the gradient. */
  amin(axes?: readonly number[], keepdims = false): Tensor {
    return this.of(reduceMin(this.value, allIfNone(axes), keepdims));
  }

  /** Position (int64) of the first of the largest elements along `dim` (torch.argmax). Default: in the flattened tensor. */
  argmax(dim?: number, keepdims = false): Tensor {
    return this.of(position(argMax, 'argmax', this.value, dim, keepdims));
  }

  /** Position (int64) of the first of the smallest elements along `dim` (torch.argmin). Default: in the flattened tensor. */
  argmin(dim?: number, keepdims = false): Tensor {
    return this.of(position(argMin, 'argmin', this.value, dim, keepdims));
  }

  /**
   * The `k` largest elements along `dim` in order, and their positions (torch.topk).
   *
   * @param dim Default: the last dimension.
   * @param largest If false, returns the smallest elements. Default: true.
   */
  topk(k: number, dim = -1, largest = true): ValuesAndIndices<Tensor> {
    const axis = normalizeAxis('topk', dim, this.value);
    if (!Number.isInteger(k) || k < 0 || k > this.value.shape[axis]) {
      throw new ShapeError(
        `topk: expected k from 0 to ${this.value.shape[axis]} for dimension ${dim} of ${describeType(this.value)}, got ${k}.`,
      );
    }
    const { values, positions } = topK(this.value, k, axis, largest);
    return { values: this.of(values), indices: this.of(positions) };
  }

  /** All elements along `dim` in order, the smallest first, and their positions (torch.sort). Default: the last dimension. */
  sort(dim = -1, descending = false): ValuesAndIndices<Tensor> {
    return this.topk(this.value.shape[normalizeAxis('sort', dim, this.value)], dim, descending);
  }

  /** The positions that sort the elements along `dim` (torch.argsort). Default: the last dimension, the smallest first. */
  argsort(dim = -1, descending = false): Tensor {
    return this.sort(dim, descending).indices;
  }

  /** Sums of the elements up to each along `dim` (torch.cumsum). */
  cumsum(dim: number): Tensor {
    return this.of(cumulativeSum(this.value, normalizeAxis('cumsum', dim, this.value)));
  }

  /**
   * Variance over `axes`, Σ(x − mean)² / (n − correction) (torch.var). Default: all axes.
   *
   * @param correction 1 for a sample variance, 0 for a population variance. Default: 1.
   */
  var(axes?: readonly number[], correction = 1, keepdims = false): Tensor {
    return this.of(variance(this.value, allIfNone(axes), correction, keepdims));
  }

  /** Standard deviation over `axes`, the root of `var` (torch.std). */
  std(axes?: readonly number[], correction = 1, keepdims = false): Tensor {
    return this.of(standardDeviation(this.value, allIfNone(axes), correction, keepdims));
  }

  /**
   * The p-norm of all elements, or over `axes`: (Σ|x|ᵖ)^(1/p) (torch.linalg.vector_norm). Default of `p`: 2. Infinity: the
   * largest |x|.
   */
  norm(p = 2, axes?: readonly number[], keepdims = false): Tensor {
    return this.of(norm(this.value, p, allIfNone(axes), keepdims));
  }

  /** log Σ exp x over `axes`, without overflow (torch.logsumexp). Default: all axes. */
  logsumexp(axes?: readonly number[], keepdims = false): Tensor {
    return this.of(logSumExp(this.float().value, allIfNone(axes), keepdims));
  }

  /** exp x / Σ exp x along `dim` (torch.softmax). */
  softmax(dim: number): Tensor {
    return this.of(softmax(this.value, dim));
  }

  /** x − log Σ exp x along `dim` (torch.log_softmax). */
  logSoftmax(dim: number): Tensor {
    return this.of(logSoftmax(this.value, dim));
  }

  /** Product of all elements, or of those along `dim` (torch.prod). */
  prod(dim?: number, keepdims = false): Tensor {
    const [x] = autocastValues('prod', [this.value] as const);
    if (dim === undefined) return this.of(product(flatten(x, 0, -1), 0));
    const axis = normalizeAxis('prod', dim, x);
    const result = product(x, axis);
    return this.of(keepdims ? unsqueeze(result, axis) : result);
  }

  /** The `k`-th smallest elements along `dim`, counted from 1, and their positions (torch.kthvalue). Default: the last dimension. */
  kthvalue(k: number, dim = -1, keepdims = false): ValuesAndIndices<Tensor> {
    const axis = normalizeAxis('kthvalue', dim, this.value);
    if (!Number.isInteger(k) || k < 1 || k > this.value.shape[axis]) {
      throw new ShapeError(
        `kthvalue: expected k from 1 to ${this.value.shape[axis]} for dimension ${dim} of ${describeType(this.value)}, got ${k}.`,
      );
    }
    const { values, indices } = this.topk(k, axis, false);
    const [value, place] = [values, indices].map((all) => all.narrow(axis, k - 1, 1));
    return keepdims
      ? { values: value, indices: place }
      : { values: value.squeeze(axis), indices: place.squeeze(axis) };
  }

  /** The median, the lower of two middle elements (torch.median); NaN for an empty tensor. */
  median(): Tensor;
  /** The medians along `dim`, the lower of two middle elements, and their positions. */
  median(dim: number, keepdims?: boolean): ValuesAndIndices<Tensor>;
  median(dim?: number, keepdims = false): Tensor | ValuesAndIndices<Tensor> {
    if (dim === undefined) {
      const flat = flatten(this.value, 0, -1);
      return flat.shape[0] === 0 ? this.of(reduceMean(flat)) : this.of(flat).median(0).values;
    }
    const axis = normalizeAxis('median', dim, this.value);
    requireElements('median', this.value, axis);
    const size = this.value.shape[axis];
    const middle = this.kthvalue(Math.floor((size + 1) / 2), dim, keepdims);
    if (!isFloat(this.value)) return middle;
    // NaN counts as the largest element, and is the median if any exists.
    const hasNaN = this.isnan().any([axis], keepdims);
    const indices = this.argmax(axis, keepdims).where(hasNaN, middle.indices);
    const whole = keepdims ? indices : indices.unsqueeze(axis);
    const values = this.of(gatherElements(this.value, whole.value, axis));
    return { values: keepdims ? values : values.squeeze(axis), indices };
  }

  /** Sum over `axes` of the elements that are not NaN (torch.nansum). Default: all axes. */
  nansum(axes?: readonly number[], keepdims = false): Tensor {
    const isNumber = this.isnan().logicalNot();
    const numbers = this.where(isNumber, 0);
    if (!isFloat(this.value)) return numbers.sum(axes, keepdims);
    // A factor, because an infinite gradient is NaN at NaN, as in torch.
    return this.of(withSlopes(numbers.value, [this.value, isNumber.float().value])).sum(axes, keepdims);
  }

  /** Mean over `axes` of the elements that are not NaN (torch.nanmean). Default: all axes. */
  nanmean(axes?: readonly number[], keepdims = false): Tensor {
    const count = this.isnan().logicalNot().float().sum(axes, keepdims);
    return this.nansum(axes, keepdims).div(count);
  }

  /** Number (int64) of nonzero elements over `axes` (torch.count_nonzero), exact up to 2²⁴. Default: all axes. */
  countNonzero(axes?: readonly number[]): Tensor {
    return this.ne(0).sum(axes);
  }

  /** The p-norm of the difference to another tensor (torch.dist). Default of `p`: 2. */
  dist(other: Tensor, p = 2): Tensor {
    return this.of(norm(apply(elementwise.sub, this, other), p, undefined, false));
  }

  /**
   * Differences of neighbours along `dim` (torch.diff), `n` times; for bool, true where they differ. Default: once, along the
   * last dimension.
   */
  diff(n = 1, dim = -1): Tensor {
    const axis = normalizeAxis('diff', dim, this.value);
    if (!Number.isInteger(n) || n < 0) throw new ArgumentError(`diff: n must be at least 0, got ${n}.`);
    let value = this.value;
    for (let i = 0; i < n && value.shape[axis] > 0; i += 1) {
      const size = value.shape[axis];
      const [after, before] = [slice(value, axis, 1, size), slice(value, axis, 0, size - 1)];
      const isCondition = value.dtype === 'bool';
      value = isCondition
        ? elementwise.not(elementwise.equal(after, before))
        : elementwise.sub(after, before);
    }
    return this.of(value);
  }

  /** True if all elements over `axes` are true or nonzero (torch.all). Default: all axes. */
  all(axes?: readonly number[], keepdims = false): Tensor {
    const isFalse = elementwise.not(elementwise.cast(this.value, 'bool'));
    return this.of(elementwise.not(anyOf(isFalse, allIfNone(axes), keepdims)));
  }

  /** True if any element over `axes` is true or nonzero (torch.any). Default: all axes. */
  any(axes?: readonly number[], keepdims = false): Tensor {
    return this.of(anyOf(elementwise.cast(this.value, 'bool'), allIfNone(axes), keepdims));
  }
}

function extreme(
  find: (value: Value, axis: number) => Value,
  op: string,
  value: Value,
  dim: number,
  keepdims: boolean,
): { values: Value; indices: Value } {
  const axis = normalizeAxis(op, dim, value);
  requireElements(op, value, axis);
  const positions = find(value, axis);
  const values = gatherElements(value, positions, axis);
  const shape = keepdims ? values.shape : values.shape.toSpliced(axis, 1);
  return { values: reshape(values, shape), indices: reshape(positions, shape) };
}

function position(
  find: (value: Value, axis: number) => Value,
  op: string,
  value: Value,
  dim: number | undefined,
  keepdims: boolean,
): Value {
  if (dim === undefined) {
    const flat = flatten(value, 0, -1);
    requireElements(op, flat, 0);
    return reshape(find(flat, 0), keepdims ? value.shape.map(() => 1) : []);
  }
  const axis = normalizeAxis(op, dim, value);
  requireElements(op, value, axis);
  const positions = find(value, axis);
  return keepdims ? positions : reshape(positions, positions.shape.toSpliced(axis, 1));
}

/** Rejects an empty dimension, in which no element can be found. */
function requireElements(op: string, value: Value, axis: number): void {
  if (value.shape[axis] > 0) return;
  throw new ShapeError(
    `${op}: expected at least one element along dimension ${axis}, got ${describeType(value)}.`,
  );
}

function anyOf(condition: Value, axes: readonly number[] | undefined, keepdims: boolean): Value {
  const count = reduceSum(elementwise.cast(condition, 'float32'), axes, keepdims);
  return elementwise.greater(count, constant(0));
}
