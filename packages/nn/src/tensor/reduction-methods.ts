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
import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { allIfNone, apply, TensorMethods } from './tensor-methods.ts';

/** Elements and their positions (int64). */
export interface ValuesAndIndices<Tensor> {
  /** The elements, with gradients. */
  values: Tensor;
  /** Their positions along the dimension, of the same shape. */
  indices: Tensor;
}

/** Functions over or along dimensions: sums, extremes, order, statistics. NaN counts as larger than every number. */
export abstract class ReductionMethods<Tensor extends ReductionMethods<Tensor>> extends ShapeMethods<Tensor> {
  /** Sum over `dim`, one dimension or a list; negative ones count from the last. Default: all dimensions. As in torch, an empty list also
   * means all of them. */
  sum(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.sum'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.sum', given);
    return this.of(reduceSum(this.value, allIfNone(dim), keepdim));
  }

  /** Mean over `dim` (torch.mean); see `sum`. */
  mean(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.mean'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.mean', given);
    return this.of(reduceMean(this.value, allIfNone(dim), keepdim));
  }

  /** The largest element (torch.max). Equal elements share the gradient. */
  max(): Tensor;
  /** The largest elements along `dim`, and the positions of the first of them. */
  max(...given: Call<[dim: number, keepdim?: boolean | undefined], 'x.max'>): ValuesAndIndices<Tensor>;
  /** The larger of two elements: `maximum`. */
  max(other: Tensor): Tensor;
  max(...given: readonly unknown[]): Tensor | ValuesAndIndices<Tensor> {
    const [other] = given;
    if (other instanceof TensorMethods) return this.maximum(other as unknown as Tensor);
    const [dim, keepdim = false] = given.length === 0 ? [undefined] : arranged('x.max', given as [number]);
    if (dim === undefined) return this.of(reduceMax(this.value));
    const { values, indices } = extreme(argMax, 'max', this.value, dim, keepdim);
    return { values: this.of(values), indices: this.of(indices) };
  }

  /** The smallest element (torch.min). Equal elements share the gradient. */
  min(): Tensor;
  /** The smallest elements along `dim`, and the positions of the first of them. */
  min(...given: Call<[dim: number, keepdim?: boolean | undefined], 'x.min'>): ValuesAndIndices<Tensor>;
  /** The smaller of two elements: `minimum`. */
  min(other: Tensor): Tensor;
  min(...given: readonly unknown[]): Tensor | ValuesAndIndices<Tensor> {
    const [other] = given;
    if (other instanceof TensorMethods) return this.minimum(other as unknown as Tensor);
    const [dim, keepdim = false] = given.length === 0 ? [undefined] : arranged('x.min', given as [number]);
    if (dim === undefined) return this.of(reduceMin(this.value));
    const { values, indices } = extreme(argMin, 'min', this.value, dim, keepdim);
    return { values: this.of(values), indices: this.of(indices) };
  }

  /** Largest element over `dim` (torch.amax); see `sum`. Equal elements share the gradient. */
  amax(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.amax'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.amax', given);
    return this.of(reduceMax(this.value, allIfNone(dim), keepdim));
  }

  /** Smallest element over `dim` (torch.amin); see `sum`. Equal elements share the gradient. */
  amin(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.amin'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.amin', given);
    return this.of(reduceMin(this.value, allIfNone(dim), keepdim));
  }

  /** Position (int64) of the first of the largest elements along `dim` (torch.argmax). Default: in the flattened tensor. */
  argmax(...given: Call<[dim?: number | undefined, keepdim?: boolean | undefined], 'x.argmax'>): Tensor {
    const [dim, keepdim = false] = arranged('x.argmax', given);
    return this.of(position(argMax, 'argmax', this.value, dim, keepdim));
  }

  /** Position (int64) of the first of the smallest elements along `dim` (torch.argmin). Default: in the flattened tensor. */
  argmin(...given: Call<[dim?: number | undefined, keepdim?: boolean | undefined], 'x.argmin'>): Tensor {
    const [dim, keepdim = false] = arranged('x.argmin', given);
    return this.of(position(argMin, 'argmin', this.value, dim, keepdim));
  }

  /**
   * The `k` largest elements along `dim` in order, and their positions (torch.topk).
   *
   * - `dim`: Default: the last dimension.
   * - `largest`: If false, returns the smallest elements. Default: true.
   */
  topk(
    ...given: Call<[k: number, dim?: number | undefined, largest?: boolean | undefined], 'x.topk'>
  ): ValuesAndIndices<Tensor> {
    const [k, dim = -1, largest = true] = arranged('x.topk', given);
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
  sort(
    ...given: Call<[dim?: number | undefined, descending?: boolean | undefined], 'x.sort'>
  ): ValuesAndIndices<Tensor> {
    const [dim = -1, descending = false] = arranged('x.sort', given);
    return this.topk(this.value.shape[normalizeAxis('sort', dim, this.value)], dim, descending);
  }

  /** The positions that sort the elements along `dim` (torch.argsort). Default: the last dimension, the smallest first. */
  argsort(...given: Call<[dim?: number | undefined, descending?: boolean | undefined], 'x.argsort'>): Tensor {
    const [dim = -1, descending = false] = arranged('x.argsort', given);
    return this.sort(dim, descending).indices;
  }

  /** Sums of the elements up to each along `dim` (torch.cumsum). */
  cumsum(...given: Call<[dim: number], 'x.cumsum'>): Tensor {
    const [dim] = arranged('x.cumsum', given);
    return this.of(cumulativeSum(this.value, normalizeAxis('cumsum', dim, this.value)));
  }

  /**
   * Variance over `dim`, Σ(x − mean)² / (n − correction) (torch.var). Default: all dimensions.
   *
   * The second argument is torch's `unbiased`, or the correction: 1 (true) for a sample variance, 0 (false) for a population
   * variance. Default: 1.
   */
  var(...given: Call<SpreadArguments, 'x.var'>): Tensor {
    const { dim, correction, keepdim } = spreadOf('x.var', given);
    return this.of(variance(this.value, allIfNone(dim), correction, keepdim));
  }

  /** Standard deviation over `dim`, the root of `var` (torch.std). */
  std(...given: Call<SpreadArguments, 'x.std'>): Tensor {
    const { dim, correction, keepdim } = spreadOf('x.std', given);
    return this.of(standardDeviation(this.value, allIfNone(dim), correction, keepdim));
  }

  /**
   * The p-norm of all elements, or over `dim`: (Σ|x|ᵖ)^(1/p) (torch.linalg.vector_norm). Default of `p`: 2. Infinity: the
   * largest |x|.
   */
  norm(
    ...given: Call<
      [
        p?: number | 'fro' | undefined,
        dim?: number | readonly number[] | undefined,
        keepdim?: boolean | undefined,
      ],
      'x.norm'
    >
  ): Tensor {
    const [p = 2, dim, keepdim = false] = arranged('x.norm', given);
    return this.of(norm(this.value, p === 'fro' ? 2 : p, allIfNone(dim), keepdim));
  }

  /** log Σ exp x over `dim`, without overflow (torch.logsumexp). Default: all dimensions. */
  logsumexp(
    ...given: Call<
      [dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined],
      'x.logsumexp'
    >
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.logsumexp', given);
    return this.of(logSumExp(this.float().value, allIfNone(dim), keepdim));
  }

  /** exp x / Σ exp x along `dim` (torch.softmax). */
  softmax(...given: Call<[dim: number], 'x.softmax'>): Tensor {
    const [dim] = arranged('x.softmax', given);
    return this.of(softmax(this.value, dim));
  }

  /** x − log Σ exp x along `dim` (torch.log_softmax). */
  logSoftmax(...given: Call<[dim: number], 'x.logSoftmax'>): Tensor {
    const [dim] = arranged('x.logSoftmax', given);
    return this.of(logSoftmax(this.value, dim));
  }

  /** Product of all elements, or of those along `dim` (torch.prod). */
  prod(...given: Call<[dim?: number | undefined, keepdim?: boolean | undefined], 'x.prod'>): Tensor {
    const [dim, keepdim = false] = arranged('x.prod', given);
    const [x] = autocastValues('prod', [this.value] as const);
    if (dim === undefined) return this.of(product(flatten(x, 0, -1), 0));
    const axis = normalizeAxis('prod', dim, x);
    const result = product(x, axis);
    return this.of(keepdim ? unsqueeze(result, axis) : result);
  }

  /** The `k`-th smallest elements along `dim`, counted from 1, and their positions (torch.kthvalue). Default: the last dimension. */
  kthvalue(
    ...given: Call<[k: number, dim?: number | undefined, keepdim?: boolean | undefined], 'x.kthvalue'>
  ): ValuesAndIndices<Tensor> {
    const [k, dim = -1, keepdim = false] = arranged('x.kthvalue', given);
    const axis = normalizeAxis('kthvalue', dim, this.value);
    if (!Number.isInteger(k) || k < 1 || k > this.value.shape[axis]) {
      throw new ShapeError(
        `kthvalue: expected k from 1 to ${this.value.shape[axis]} for dimension ${dim} of ${describeType(this.value)}, got ${k}.`,
      );
    }
    const { values, indices } = this.topk(k, axis, false);
    const [value, place] = [values, indices].map((all) => all.narrow(axis, k - 1, 1));
    return keepdim
      ? { values: value, indices: place }
      : { values: value.squeeze(axis), indices: place.squeeze(axis) };
  }

  /** The median, the lower of two middle elements (torch.median); NaN for an empty tensor. */
  median(): Tensor;
  /** The medians along `dim`, the lower of two middle elements, and their positions. */
  median(...given: Call<[dim: number, keepdim?: boolean | undefined], 'x.median'>): ValuesAndIndices<Tensor>;
  median(...given: readonly unknown[]): Tensor | ValuesAndIndices<Tensor> {
    const [dim, keepdim = false]: readonly [dim?: number | undefined, keepdim?: boolean | undefined] =
      given.length === 0 ? [undefined] : arranged('x.median', given as [number, boolean?]);
    if (dim === undefined) {
      const flat = flatten(this.value, 0, -1);
      return flat.shape[0] === 0 ? this.of(reduceMean(flat)) : this.of(flat).median(0).values;
    }
    const axis = normalizeAxis('median', dim, this.value);
    requireElements('median', this.value, axis);
    const size = this.value.shape[axis];
    const middle = this.kthvalue(Math.floor((size + 1) / 2), dim, keepdim);
    if (!isFloat(this.value)) return middle;
    // NaN counts as the largest element, and is the median if any exists.
    const hasNaN = this.isnan().any([axis], keepdim);
    const indices = this.argmax(axis, keepdim).where(hasNaN, middle.indices);
    const whole = keepdim ? indices : indices.unsqueeze(axis);
    const values = this.of(gatherElements(this.value, whole.value, axis));
    return { values: keepdim ? values : values.squeeze(axis), indices };
  }

  /** Sum over `dim` of the elements that are not NaN (torch.nansum). Default: all dimensions. */
  nansum(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.nansum'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.nansum', given);
    const isNumber = this.isnan().logicalNot();
    const numbers = this.where(isNumber, 0);
    if (!isFloat(this.value)) return numbers.sum(dim, keepdim);
    // A factor, because an infinite gradient is NaN at NaN, as in torch.
    return this.of(withSlopes(numbers.value, [this.value, isNumber.float().value])).sum(dim, keepdim);
  }

  /** Mean over `dim` of the elements that are not NaN (torch.nanmean). Default: all dimensions. */
  nanmean(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.nanmean'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.nanmean', given);
    const count = this.isnan().logicalNot().float().sum(dim, keepdim);
    return this.nansum(dim, keepdim).div(count);
  }

  /** Number (int64) of nonzero elements over `dim` (torch.count_nonzero), exact up to 2²⁴. Default: all dimensions. */
  countNonzero(...given: Call<[dim?: number | readonly number[] | undefined], 'x.countNonzero'>): Tensor {
    const [dim] = arranged('x.countNonzero', given);
    return this.ne(0).sum(dim);
  }

  /** The p-norm of the difference to another tensor (torch.dist). Default of `p`: 2. */
  dist(...given: Call<[other: Tensor, p?: number | undefined], 'x.dist'>): Tensor {
    const [other, p = 2] = arranged('x.dist', given);
    return this.of(norm(apply(elementwise.sub, this, other), p, undefined, false));
  }

  /**
   * Differences of neighbours along `dim` (torch.diff), `n` times; for bool, true where they differ. Default: once, along the
   * last dimension.
   */
  diff(...given: Call<[n?: number | undefined, dim?: number | undefined], 'x.diff'>): Tensor {
    const [n = 1, dim = -1] = arranged('x.diff', given);
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

  /** True if all elements over `dim` are true or nonzero (torch.all). Default: all dimensions. */
  all(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.all'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.all', given);
    const isFalse = elementwise.not(elementwise.cast(this.value, 'bool'));
    return this.of(elementwise.not(anyOf(isFalse, allIfNone(dim), keepdim)));
  }

  /** True if any element over `dim` is true or nonzero (torch.any). Default: all dimensions. */
  any(
    ...given: Call<[dim?: number | readonly number[] | undefined, keepdim?: boolean | undefined], 'x.any'>
  ): Tensor {
    const [dim, keepdim = false] = arranged('x.any', given);
    return this.of(anyOf(elementwise.cast(this.value, 'bool'), allIfNone(dim), keepdim));
  }
}

/** Arguments of `var` and `std`. */
type SpreadArguments = [
  dim?: number | readonly number[] | boolean,
  unbiased?: boolean | number,
  keepdim?: boolean,
  options?: {
    /** 1 for a sample variance, 0 for a population variance. Default: 1. */
    correction?: number;
  },
];

function spreadOf(name: 'x.var' | 'x.std', given: Call<SpreadArguments, 'x.var'>) {
  const [first, second, keepdim = false, options] = arranged(name, given);
  // torch's var(unbiased) of all elements.
  const [dim, unbiased = true] = typeof first === 'boolean' ? [undefined, first] : [first, second];
  return { dim, correction: options.correction ?? Number(unbiased), keepdim };
}

function extreme(
  find: (value: Value, axis: number) => Value,
  op: string,
  value: Value,
  dim: number,
  keepdim: boolean,
): { values: Value; indices: Value } {
  const axis = normalizeAxis(op, dim, value);
  requireElements(op, value, axis);
  const positions = find(value, axis);
  const values = gatherElements(value, positions, axis);
  const shape = keepdim ? values.shape : values.shape.toSpliced(axis, 1);
  return { values: reshape(values, shape), indices: reshape(positions, shape) };
}

function position(
  find: (value: Value, axis: number) => Value,
  op: string,
  value: Value,
  dim: number | undefined,
  keepdim: boolean,
): Value {
  if (dim === undefined) {
    const flat = flatten(value, 0, -1);
    requireElements(op, flat, 0);
    return reshape(find(flat, 0), keepdim ? value.shape.map(() => 1) : []);
  }
  const axis = normalizeAxis(op, dim, value);
  requireElements(op, value, axis);
  const positions = find(value, axis);
  return keepdim ? positions : reshape(positions, positions.shape.toSpliced(axis, 1));
}

/** Rejects an empty dimension, in which no element can be found. */
function requireElements(op: string, value: Value, axis: number): void {
  if (value.shape[axis] > 0) return;
  throw new ShapeError(
    `${op}: expected at least one element along dimension ${axis}, got ${describeType(value)}.`,
  );
}

function anyOf(condition: Value, axes: readonly number[] | undefined, keepdim: boolean): Value {
  const count = reduceSum(elementwise.cast(condition, 'float32'), axes, keepdim);
  return elementwise.greater(count, constant(0));
}
