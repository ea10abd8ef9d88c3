import { numbersOf, type Spread, type SpreadAs } from '../calls/sizes.ts';
import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { normalizeAxes, normalizeAxis } from '../ops/axes.ts';
import { indexSelect } from '../ops/indexing.ts';
import { concat, expand, flatten, reshape, transpose, trilu, unsqueeze } from '../ops/shape.ts';
import { PointwiseMethods } from './pointwise-methods.ts';

/** Reads and changes the shape of a tensor. */
export abstract class ShapeMethods<Tensor extends ShapeMethods<Tensor>> extends PointwiseMethods<Tensor> {
  /** The same elements with another shape (torch.Tensor.view). One dimension may be -1, which is inferred. */
  view(...shape: Spread): Tensor {
    return this.of(reshape(this.value, numbersOf('x.view', shape)));
  }

  /** The same elements with another shape (torch.reshape); an alias of `view`. */
  reshape(...shape: SpreadAs<'shape'>): Tensor {
    return this.of(reshape(this.value, numbersOf('x.reshape', shape, 'shape')));
  }

  /** The lengths of all dimensions (torch.Tensor.size); an alias of `shape`. */
  size(): readonly number[];
  /** The length of one dimension. */
  size(dim: number): number;
  size(dim?: number): number | readonly number[] {
    const { shape } = this.value;
    return dim === undefined ? shape : shape[normalizeAxis('size', dim, this.value)];
  }

  /** Number of dimensions (torch.Tensor.dim). */
  dim(): number {
    return this.value.shape.length;
  }

  /** Number of dimensions (torch.Tensor.ndim). */
  get ndim(): number {
    return this.value.shape.length;
  }

  /** Number of elements (torch.Tensor.numel). */
  numel(): number {
    return sizeOf(this.value.shape);
  }

  /** The same elements with the shape of another tensor (torch.Tensor.view_as). */
  viewAs(...given: Call<[other: Tensor], 'x.viewAs'>): Tensor {
    const [other] = arranged('x.viewAs', given);
    return this.of(reshape(this.value, other.shape));
  }

  /** The same elements with the shape of another tensor (torch.Tensor.reshape_as); an alias of `viewAs`. */
  reshapeAs(...given: Call<[other: Tensor], 'x.reshapeAs'>): Tensor {
    const [other] = arranged('x.reshapeAs', given);
    return this.viewAs(other);
  }

  /** Flattens all elements into one dimension (torch.ravel). */
  ravel(): Tensor {
    return this.of(reshape(this.value, [-1]));
  }

  /** Merges the dimensions from `startDim` to `endDim` (torch.Tensor.flatten). Default: all of them. */
  flatten(...given: Call<[startDim?: number | undefined, endDim?: number | undefined], 'x.flatten'>): Tensor {
    const [startDim = 0, endDim = -1] = arranged('x.flatten', given);
    return this.of(flatten(this.value, startDim, endDim));
  }

  /** Inserts a dimension of size 1 before `dim` (torch.Tensor.unsqueeze). */
  unsqueeze(...given: Call<[dim: number], 'x.unsqueeze'>): Tensor {
    const [dim] = arranged('x.unsqueeze', given);
    return this.of(unsqueeze(this.value, dim));
  }

  /** Removes the given dimensions of size 1, or all of them (torch.squeeze). A `dim` of another size is kept. */
  squeeze(...given: Call<[dim?: number | readonly number[] | undefined], 'x.squeeze'>): Tensor {
    const [dim] = arranged('x.squeeze', given);
    const { shape } = this.value;
    const dims = typeof dim === 'number' ? [dim] : (dim ?? [...shape.keys()]);
    const axes = normalizeAxes('squeeze', dims, this.value);
    return this.of(
      reshape(
        this.value,
        shape.filter((size, axis) => size !== 1 || !axes.includes(axis)),
      ),
    );
  }

  /**
   * Repeats dimensions of size 1 (torch.Tensor.expand). −1 keeps a dimension; new ones come first.
   *
   * @throws ShapeError if a dimension whose size is not 1 would change
   */
  expand(...given: Spread): Tensor {
    const sizes = numbersOf('x.expand', given);
    const { shape } = this.value;
    const added = sizes.length - shape.length;
    const resolved = sizes.map((size, axis) => (size === -1 && axis >= added ? shape[axis - added] : size));
    const fits = shape.every((size, axis) => size === 1 || size === resolved[axis + added]);
    if (added < 0 || !fits || resolved.some((size) => !Number.isInteger(size) || size < 0)) {
      throw new ShapeError(
        `expand: ${describeType(this.value)} cannot become [${sizes.join()}]: only dimensions of size 1 are repeated.`,
      );
    }
    return this.of(expand(this.value, resolved));
  }

  /** `expand` to the shape of another tensor (torch.Tensor.expand_as). */
  expandAs(...given: Call<[other: Tensor], 'x.expandAs'>): Tensor {
    const [other] = arranged('x.expandAs', given);
    return this.expand(...other.shape);
  }

  /** Repeats the whole tensor along each dimension (torch.Tensor.repeat): [2, 3] repeated (2, 1, 2) gives [2, 2, 6]. */
  repeat(...given: Spread): Tensor {
    const counts = numbersOf('x.repeat', given);
    const { shape } = this.value;
    const added = counts.length - shape.length;
    if (added < 0 || counts.some((count) => !Number.isInteger(count) || count < 0)) {
      throw new ShapeError(
        `repeat: expected at least ${shape.length} counts for ${describeType(this.value)}, got [${counts.join()}].`,
      );
    }
    const whole = reshape(this.value, [...Array<number>(added).fill(1), ...shape]);
    return this.of(
      counts.reduce((value, count, axis) => {
        if (count === 0) return expand(value, value.shape.with(axis, 0));
        return concat(Array<typeof value>(count).fill(value), axis);
      }, whole),
    );
  }

  /** Repeats the whole tensor along its last dimensions (torch.tile); like `repeat`, but accepts fewer counts. */
  tile(...given: SpreadAs<'dims'>): Tensor {
    const counts = numbersOf('x.tile', given, 'dims');
    const missing = Math.max(0, this.value.shape.length - counts.length);
    return this.repeat(...Array<number>(missing).fill(1), ...counts);
  }

  /**
   * Repeats each element along `dim` (torch.repeat_interleave): [1, 2] repeated twice is [1, 1, 2, 2]. Default: flattens the
   * tensor.
   */
  repeatInterleave(
    ...given: Call<[repeats: number, dim?: number | undefined], 'x.repeatInterleave'>
  ): Tensor {
    const [count, dim] = arranged('x.repeatInterleave', given);
    if (!Number.isInteger(count) || count < 0) {
      throw new ShapeError(`repeatInterleave: expected a whole count of at least 0, got ${count}.`);
    }
    if (dim === undefined) return this.ravel().repeatInterleave(count, 0);
    const axis = normalizeAxis('repeatInterleave', dim, this.value);
    const { shape } = this.value;
    const apart = reshape(this.value, shape.toSpliced(axis + 1, 0, 1));
    const repeated = expand(apart, shape.toSpliced(axis + 1, 0, count));
    return this.of(reshape(repeated, shape.with(axis, shape[axis] * count)));
  }

  /** Windows of `size` elements along `dim`, as a new last dimension (torch.Tensor.unfold): [7] with (0, 3, 2) gives [3, 3]. */
  unfold(...given: Call<[dimension: number, size: number, step: number], 'x.unfold'>): Tensor {
    const [dim, size, step] = arranged('x.unfold', given);
    const axis = normalizeAxis('unfold', dim, this.value);
    const { shape } = this.value;
    if (![size, step].every((count) => Number.isInteger(count) && count > 0) || size > shape[axis]) {
      throw new ShapeError(
        `unfold: expected a size from 1 to ${shape[axis]} and a step from 1, got ${size} and ${step} for dimension ${dim} of ${describeType(this.value)}.`,
      );
    }
    const windows = Math.floor((shape[axis] - size) / step) + 1;
    const positions = Array.from(
      { length: windows * size },
      (_, i) => Math.floor(i / size) * step + (i % size),
    );
    const split = reshape(indexSelect(this.value, axis, positions), shape.toSpliced(axis, 1, windows, size));
    const order = [...split.shape.keys()].toSpliced(axis + 1, 1);
    return this.of(transpose(split, [...order, axis + 1]));
  }

  /** Splits a dimension into several (torch.Tensor.unflatten): [6, 4] with (0, [2, 3]) gives [2, 3, 4]. One may be −1. */
  unflatten(...given: Call<[dim: number, sizes: readonly number[]], 'x.unflatten'>): Tensor {
    const [dim, sizes] = arranged('x.unflatten', given);
    const axis = normalizeAxis('unflatten', dim, this.value);
    const { shape } = this.value;
    const known = sizes.reduce((product, size) => (size === -1 ? product : product * size), 1);
    const resolved = sizes.map((size) => (size === -1 ? shape[axis] / known : size));
    return this.of(reshape(this.value, shape.toSpliced(axis, 1, ...resolved)));
  }

  /** Permutes the axes (torch.Tensor.permute): axis `i` of the result is axis `axes[i]` of this tensor. Negative axes count from the last. */
  permute(...axes: SpreadAs<'dims'>): Tensor {
    return this.of(transpose(this.value, numbersOf('x.permute', axes, 'dims')));
  }

  /** Swaps two axes (torch.Tensor.transpose). Negative axes count from the last. */
  transpose(...given: Call<[dim0: number, dim1: number], 'x.transpose'>): Tensor {
    const [dim0, dim1] = arranged('x.transpose', given);
    const [a, b] = [dim0, dim1].map((dim) => normalizeAxis('transpose', dim, this.value));
    const order = [...this.value.shape.keys()];
    return this.of(transpose(this.value, order.with(a, b).with(b, a)));
  }

  /** Moves a dimension to another place (torch.movedim). */
  movedim(...given: Call<[source: number, destination: number], 'x.movedim'>): Tensor {
    const [source, destination] = arranged('x.movedim', given);
    const from = normalizeAxis('movedim', source, this.value);
    const to = normalizeAxis('movedim', destination, this.value);
    const others = [...this.value.shape.keys()].toSpliced(from, 1);
    return this.of(transpose(this.value, others.toSpliced(to, 0, from)));
  }

  /** The transposed matrix (torch.t). Tensors with fewer dimensions are unchanged. */
  t(): Tensor {
    const rank = this.value.shape.length;
    if (rank > 2) {
      throw new ShapeError(
        `t: expected at most 2 dimensions, got ${describeType(this.value)}. Call transpose or permute.`,
      );
    }
    return this.of(rank < 2 ? reshape(this.value, this.value.shape) : transpose(this.value, [1, 0]));
  }

  /**
   * Sets elements below `diagonal` to 0 in the matrices of the last two dimensions (torch.triu). 0 is the main diagonal, 1 the
   * one above it.
   */
  triu(...given: Call<[diagonal?: number | undefined], 'x.triu'>): Tensor {
    const [diagonal = 0] = arranged('x.triu', given);
    return this.of(triangle('triu', this.value, diagonal, true));
  }

  /**
   * Sets elements above `diagonal` to 0 in the matrices of the last two dimensions (torch.tril). 0 is the main diagonal, 1 the
   * one above it.
   */
  tril(...given: Call<[diagonal?: number | undefined], 'x.tril'>): Tensor {
    const [diagonal = 0] = arranged('x.tril', given);
    return this.of(triangle('tril', this.value, diagonal, false));
  }
}

function triangle(op: string, value: Value, diagonal: number, upper: boolean): Value {
  if (value.shape.length < 2 || !Number.isInteger(diagonal)) {
    throw new ShapeError(
      `${op}: expected at least 2 dimensions and a whole diagonal, got ${describeType(value)} and ${diagonal}.`,
    );
  }
  return trilu(value, diagonal, upper);
}
