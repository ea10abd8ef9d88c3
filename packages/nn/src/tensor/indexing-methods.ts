import { numbersOf, type SpreadAs } from '../calls/sizes.ts';
import { ArgumentError } from '../errors/errors.ts';
import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Scalar } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { normalizeAxis } from '../ops/axes.ts';
import { gatherElements, scatter, scatterElements } from '../ops/indexing.ts';
import { checkIndices } from '../ops/own/check-indices.ts';
import { add, cast, where } from '../ops/elementwise.ts';
import { expand, flatten, pad, reshape, unsqueeze } from '../ops/shape.ts';
import { indexBy, selectAt, type IndexOfAxis } from '../ops/index-by-tensors.ts';
import { flip, narrow, pythonSlice, roll, select, splitEvery, splitSizes } from '../ops/slicing.ts';
import { ConversionMethods } from './conversion-methods.ts';
import { asLeaf, rowsOnHost } from './parts-of-leaves.ts';
import { apply, fillValue, isScalar } from './tensor-methods.ts';

/** Parts of a tensor, by position or by a mask. */
export abstract class IndexingMethods<
  Tensor extends IndexingMethods<Tensor>,
> extends ConversionMethods<Tensor> {
  /**
   * Returns a part of the tensor, like `x[…]` in PyTorch: `x.at(0)` is `x[0]`, `x.at('...', [1, 3])` is `x[..., 1:3]`,
   * `x.at([], -1)` is `x[:, -1]`, and `x.at([], null)` is `x[:, None]`. Tensors of int64 are indices that broadcast, as in torch:
   * `x.at(rows, columns)` has one element for each pair. A mask is not an index, because shapes are known before elements: use
   * `maskedFill` or `where`.
   *
   * A part of a tensor whose elements are an array, not computed ones, is such a tensor too, if it is cut along the first
   * dimension: `x.at([i, i + 64])` is a view of the array, and `x.at(rows)` a copy made at the call.
   *
   * @throws ShapeError for an index out of range, too many indices, indices that do not broadcast, or more than one `'...'`
   */
  at(...indices: readonly (number | readonly (number | null)[] | Tensor | null | '...')[]): Tensor {
    const given = indices.filter((index) => index !== null && index !== '...').length;
    const dots = indices.indexOf('...');
    if (given > this.value.shape.length || dots !== indices.lastIndexOf('...')) {
      throw new ShapeError(
        `at: expected at most ${this.value.shape.length} indices and one '...' for ${describeType(this.value)}, got ${given}.`,
      );
    }
    let axis = 0;
    let value = this.value;
    const places: IndexOfAxis[] = [];
    for (const index of indices) {
      if (index === '...') axis += this.value.shape.length - given;
      else if (index === null) value = unsqueeze(value, axis++);
      else if (typeof index === 'number') value = asLeaf(select(value, axis, index));
      else if ('value' in index) places.push({ axis: axis++, index: index.value });
      else value = asLeaf(sliceBy(value, axis++, index));
    }
    if (places.length === 0) return this.of(value);
    const indexed = indexBy(value, places);
    const isOfRows = places.length === 1 && places[0].axis === 0;
    return this.of((isOfRows ? rowsOnHost(value, places[0].index) : undefined) ?? indexed);
  }

  /** The elements from `start` to `end` (exclusive) along `dim`, every `step`th one, like `x[…, start:end:step]` in Python. */
  slice(dim: number, start?: number, end?: number, step = 1): Tensor {
    return this.of(asLeaf(pythonSlice(this.value, dim, start, end, step)));
  }

  /** The part of `length` elements from `start` on along `dim` (torch.narrow). A negative start counts from the end. */
  narrow(...given: Call<[dim: number, start: number, length: number], 'x.narrow'>): Tensor {
    const [dim, start, length] = arranged('x.narrow', given);
    return this.of(asLeaf(narrow(this.value, dim, start, length)));
  }

  /** Selects one position along `dim` and removes that dimension (torch.select). A negative position counts from the end. */
  select(...given: Call<[dim: number, index: number], 'x.select'>): Tensor {
    const [dim, index] = arranged('x.select', given);
    return this.of(asLeaf(select(this.value, dim, index)));
  }

  /** The parts at the positions of an int64 tensor along `dim` (torch.index_select). Positions may repeat. */
  indexSelect(...given: Call<[dim: number, index: Tensor], 'x.indexSelect'>): Tensor {
    const [dim, index] = arranged('x.indexSelect', given);
    const selected = selectAt(this.value, dim, index.value);
    const axis = normalizeAxis('indexSelect', dim, this.value);
    const rows = axis === 0 && index.shape.length === 1 ? rowsOnHost(this.value, index.value) : undefined;
    return this.of(rows ?? selected);
  }

  /**
   * One element for each of `index`, int64 (torch.gather): for `dim` = 1, `result[i][j] = x[i][index[i][j]]`. The result has
   * the shape of `index`, whose other dimensions are at most as long as the tensor's.
   */
  gather(...given: Call<[dim: number, index: Tensor], 'x.gather'>): Tensor {
    const [dim, index] = arranged('x.gather', given);
    const axis = normalizeAxis('gather', dim, this.value);
    const rows = fitted('gather', this.value, index.value, axis);
    return this.of(gatherElements(rows, checkedPositions('gather', this.value, axis, index.value), axis));
  }

  /** The elements at positions in the flattened tensor, in the shape of `index`, int64 (torch.take). */
  take(...given: Call<[index: Tensor], 'x.take'>): Tensor {
    const [index] = arranged('x.take', given);
    if (index.dtype !== 'int64') {
      throw new ShapeError(`take: expected int64 positions, got ${describeType(index)}.`);
    }
    const flat = flatten(this.value, 0, -1);
    const [count] = flat.shape;
    const positions = checkIndices('take', 'positions', index.value, { least: -count, count });
    return this.of(reshape(gatherElements(flat, flatten(positions, 0, -1), 0), index.shape));
  }

  /**
   * Returns a copy with elements replaced (torch.scatter): for `dim` = 1, `result[i][index[i][j]] = source[i][j]`. `source` is a
   * tensor at least as long as `index` in every dimension, or a number, as in `maskedFill`. If a position occurs twice, one
   * of its elements is written, and all of them receive the gradient.
   */
  scatter(...given: Call<[dim: number, index: Tensor, src: Tensor | Scalar | boolean], 'x.scatter'>): Tensor {
    const [dim, index, source] = arranged('x.scatter', given);
    const axis = normalizeAxis('scatter', dim, this.value);
    requireEqualRank('scatter', this.value, index.value);
    requireInside('scatter', this.value, axis, index.value);
    const { dtype } = this.value;
    const updates = isScalar(source)
      ? expand(fillValue(dtype, source), index.shape)
      : partOf('scatter', cast(source.value, dtype), index.value);
    const positions = checkedPositions('scatter', this.value, axis, index.value);
    return this.of(scatter(this.value, positions, updates, axis));
  }

  /**
   * Returns a copy with elements added (torch.scatter_add): for `dim` = 1, `result[i][index[i][j]] += source[i][j]`. `source`
   * is at least as long as `index` in every dimension, and `index` at most as long as this tensor in every other dimension.
   */
  scatterAdd(...given: Call<[dim: number, index: Tensor, src: Tensor], 'x.scatterAdd'>): Tensor {
    const [dim, index, source] = arranged('x.scatterAdd', given);
    const axis = normalizeAxis('scatterAdd', dim, this.value);
    requireEqualRank('scatterAdd', this.value, index.value);
    requireInside('scatterAdd', this.value, axis, index.value);
    const missing = this.value.shape.map((size, other) => (other === axis ? 0 : size - index.shape[other]));
    const updates = partOf('scatterAdd', source.value, index.value);
    const positions = checkedPositions('scatterAdd', this.value, axis, index.value);
    const sums = scatterElements(positions, updates, this.value.shape[axis], axis);
    const none = missing.map(() => 0);
    return this.of(add(this.value, missing.some(Boolean) ? pad(sums, none, missing) : sums));
  }

  /** This tensor where the condition is true, else `other` (torch.Tensor.where). All three broadcast; dtypes are promoted. */
  where(...given: Call<[condition: Tensor, other: Tensor | Scalar | boolean], 'x.where'>): Tensor {
    const [condition, other] = arranged('x.where', given);
    return this.of(apply((a, b) => where(condition.value, a, b), this, other));
  }

  /**
   * Returns a copy with a number where the mask is true (torch.masked_fill). The mask broadcasts. The dtype is kept: for int64,
   * the number is truncated.
   *
   * @throws ArgumentError for int64, if the number is NaN or out of range
   */
  maskedFill(...given: Call<[mask: Tensor, value: Scalar | boolean], 'x.maskedFill'>): Tensor {
    const [mask, value] = arranged('x.maskedFill', given);
    return this.of(where(mask.value, fillValue(this.value.dtype, value), this.value));
  }

  /**
   * Splits into parts along `dim` (torch.split): of the sizes in a list, or of `size` elements each, the last with the remainder.
   * Default of `dim`: 0.
   */
  split(
    ...given: Call<[splitSize: number | readonly number[], dim?: number | undefined], 'x.split'>
  ): Tensor[] {
    const [size, dim = 0] = arranged('x.split', given);
    const parts =
      typeof size === 'number' ? splitEvery(this.value, size, dim) : splitSizes(this.value, size, dim);
    return parts.map((part) => this.of(asLeaf(part)));
  }

  /** At most `count` parts of equal size along `dim`; the last one may be smaller (torch.chunk). Default of `dim`: 0. */
  chunk(...given: Call<[chunks: number, dim?: number | undefined], 'x.chunk'>): Tensor[] {
    const [count, dim = 0] = arranged('x.chunk', given);
    if (!Number.isInteger(count) || count < 1) {
      throw new ShapeError(`chunk: expected at least 1 part, got ${count}.`);
    }
    const length = this.value.shape[normalizeAxis('chunk', dim, this.value)];
    return this.split(Math.max(1, Math.ceil(length / count)), dim);
  }

  /** The slices at each position of `dim`, without that dimension (torch.unbind). Default of `dim`: 0. */
  unbind(...given: Call<[dim?: number | undefined], 'x.unbind'>): Tensor[] {
    const [dim = 0] = arranged('x.unbind', given);
    const length = this.value.shape[normalizeAxis('unbind', dim, this.value)];
    return Array.from({ length }, (_, index) => this.select(dim, index));
  }

  /** Reverses the order of the elements along dimensions (torch.flip). */
  flip(...given: SpreadAs<'dims'>): Tensor {
    return this.of(flip(this.value, numbersOf('x.flip', given, 'dims')));
  }

  /**
   * Rolls elements by `shifts` places along `dims`, one or a list of equal length; elements shifted beyond the end reappear at
   * the start (torch.roll). Default of `dims`: the flattened tensor.
   */
  roll(
    ...given: Call<
      [shifts: number | readonly number[], dims?: number | readonly number[] | undefined],
      'x.roll'
    >
  ): Tensor {
    const [shifts, dims] = arranged('x.roll', given);
    const by = [shifts].flat();
    if (dims === undefined && by.length === 1) {
      return this.of(reshape(roll(flatten(this.value, 0, -1), by[0], 0), this.value.shape));
    }
    const along = [dims ?? []].flat();
    if (along.length !== by.length) {
      throw new ArgumentError(
        `roll: expected as many shifts as dims, got [${by.join()}] and [${along.join()}]. Write x.roll([1, 2], [0, 1]).`,
      );
    }
    return this.of(by.reduce((value, shift, place) => roll(value, shift, along[place]), this.value));
  }
}

function sliceBy(value: Value, axis: number, bounds: readonly (number | null)[]): Value {
  const [start, end, step] = bounds.map((bound) => bound ?? undefined);
  if (bounds.length > 3) {
    throw new ShapeError(`at: expected [start, end, step], got [${bounds.join()}].`);
  }
  return pythonSlice(value, axis, start, end, step);
}

function requireEqualRank(op: string, value: Value, index: Value): void {
  if (index.dtype === 'int64' && index.shape.length === value.shape.length) return;
  throw new ShapeError(
    `${op}: expected an int64 index with ${value.shape.length} dimensions for ${describeType(value)}, got ${describeType(index)}.`,
  );
}

/** Rejects an index that is longer than the value along any other axis. */
function requireInside(op: string, value: Value, axis: number, index: Value): void {
  if (index.shape.every((size, other) => other === axis || size <= value.shape[other])) return;
  throw new ShapeError(
    `${op}: expected an index at most as long as ${describeType(value)} except along dimension ${axis}, got ${describeType(index)}.`,
  );
}

/** The part of the updates covered by an index. */
function partOf(op: string, updates: Value, index: Value): Value {
  const { shape } = updates;
  if (shape.length !== index.shape.length || index.shape.some((size, dim) => size > shape[dim])) {
    throw new ShapeError(
      `${op}: expected a source at least as long as the index ${describeType(index)} in every dimension, got ${describeType(updates)}.`,
    );
  }
  return index.shape.reduce((part, size, dim) => narrow(part, dim, 0, size), updates);
}

/** Validated positions along an axis of the value, counted from 0. */
function checkedPositions(name: string, { shape }: Value, axis: number, index: Value): Value {
  return checkIndices(name, 'positions', index, { least: 0, count: shape[axis] });
}

/** The part of a value whose dimensions other than `axis` are as long as those of `index`. */
function fitted(op: string, value: Value, index: Value, axis: number): Value {
  requireEqualRank(op, value, index);
  return index.shape.reduce((part, size, dim) => (dim === axis ? part : narrow(part, dim, 0, size)), value);
}
