import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import { normalizeAxis } from './axes.ts';
import { remainder } from './division.ts';
import { sub } from './elementwise.ts';
import { indexSelect } from './indexing.ts';
import { selectAt } from './index-by-tensors.ts';
import { concat, reshape, reverse, slice, split } from './shape.ts';
import { int64Constant } from './source.ts';

/** Selects `length` elements from `start` on along an axis (torch.narrow). A negative start counts from the end. */
export function narrow(value: Value, dim: number, start: number, length: number): Value {
  const axis = normalizeAxis('narrow', dim, value);
  const size = value.shape[axis];
  const from = start < 0 ? start + size : start;
  const isInside = Number.isInteger(from) && Number.isInteger(length) && from >= 0 && length >= 0;
  if (!isInside || from + length > size) {
    throw new ShapeError(
      `narrow: expected a part of the ${size} elements of dimension ${dim} of ${describeType(value)}, got ${length} from ${start} on.`,
    );
  }
  return slice(value, axis, from, from + length, start < 0 ? fromEnd(start, length) : undefined);
}

/** Selects one position along an axis and removes the axis (torch.select). A negative position counts from the end. */
export function select(value: Value, dim: number, index: number): Value {
  const axis = normalizeAxis('select', dim, value);
  const size = value.shape[axis];
  if (!Number.isInteger(index) || index < -size || index >= size) {
    throw new ShapeError(
      `select: expected an index from ${-size} to ${size - 1} for dimension ${dim} of ${describeType(value)}, got ${index}.`,
    );
  }
  const place = index < 0 ? index + size : index;
  const part = slice(value, axis, place, place + 1, index < 0 ? fromEnd(index, 1) : undefined);
  return reshape(part, value.shape.toSpliced(axis, 1));
}

/** Python's slice along an axis: negative bounds count from the end, and bounds outside are clamped to the ends. */
export function pythonSlice(
  value: Value,
  dim: number,
  start: number | undefined,
  end: number | undefined,
  step = 1,
): Value {
  const axis = normalizeAxis('slice', dim, value);
  const size = value.shape[axis];
  if (!Number.isInteger(step) || step < 1) {
    throw new ShapeError(`slice: expected a step of at least 1, got ${step}. To reverse, call flip.`);
  }
  const [from, to] = [start ?? 0, end ?? size].map((bound) => {
    if (!Number.isInteger(bound)) throw new ShapeError(`slice: expected whole bounds, got ${bound}.`);
    return Math.min(Math.max(bound < 0 ? bound + size : bound, 0), size);
  });
  const given = { start: start ?? 0, end: end ?? Number.MAX_SAFE_INTEGER, step };
  const all = slice(value, axis, from, Math.max(from, to), given);
  if (isTracingSizes()) return all;
  return step === 1 ? all : indexSelect(all, axis, range(0, all.shape[axis], step));
}

/** Reverses the order of the elements along axes (torch.flip). */
export function flip(value: Value, dims: readonly number[]): Value {
  return dims.reduce((flipped, dim) => {
    const axis = normalizeAxis('flip', dim, value);
    return reverse(flipped, axis);
  }, value);
}

/** Rolls the elements along an axis by `shift` places; elements shifted beyond the end reappear at the start (torch.roll). */
export function roll(value: Value, shift: number, dim: number): Value {
  const axis = normalizeAxis('roll', dim, value);
  const size = value.shape[axis];
  if (isTracingSizes()) {
    // For all sizes, even sizes below the shift.
    const [places, moved, length] = [range(0, size), [shift], [size]].map((numbers) =>
      int64Constant([numbers.length], numbers),
    );
    return selectAt(value, axis, remainder(sub(places, moved), length));
  }
  const shifted = size === 0 ? 0 : ((shift % size) + size) % size;
  if (shifted === 0) return value;
  return concat([slice(value, axis, size - shifted, size), slice(value, axis, 0, size - shifted)], axis);
}

/** Parts of the given sizes along an axis (torch.split with a list). */
export function splitSizes(value: Value, sizes: readonly number[], dim: number): Value[] {
  const axis = normalizeAxis('split', dim, value);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total !== value.shape[axis]) {
    throw new ShapeError(
      `split: expected sizes with the sum ${value.shape[axis]}, dimension ${dim} of ${describeType(value)}, got [${sizes.join()}].`,
    );
  }
  // One operator, whose gradient is one Concat. For other sizes the parts may differ.
  const areEqual = sizes.length > 1 && sizes.every((size) => size === sizes[0]);
  if (areEqual && !isTracingSizes()) return [...split(value, axis, sizes.length)];
  let start = 0;
  return sizes.map((size) => slice(value, axis, start, (start += size)));
}

/** Parts of `size` elements along an axis; the last one may be smaller (torch.split with a number). */
export function splitEvery(value: Value, size: number, dim: number): Value[] {
  const length = value.shape[normalizeAxis('split', dim, value)];
  if (!Number.isInteger(size) || size < 1) {
    throw new ShapeError(`split: expected a size of at least 1, got ${size}.`);
  }
  const starts = range(0, Math.max(length, 1), size);
  return splitSizes(
    value,
    starts.map((start) => Math.min(size, length - start)),
    dim,
  );
}

/** Bounds of a part with a negative `start`, which counts from the end. */
function fromEnd(start: number, length: number): { start: number; end: number } {
  return { start, end: start + length < 0 ? start + length : Number.MAX_SAFE_INTEGER };
}

function range(start: number, end: number, step = 1): number[] {
  return Array.from({ length: Math.max(0, Math.ceil((end - start) / step)) }, (_, i) => start + i * step);
}
