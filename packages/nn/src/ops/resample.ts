import type { Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import { indexSelect } from './indexing.ts';
import { gemm, matmul, overRows } from './linear-algebra.ts';
import { expand, reshape } from './shape.ts';
import { constantTensor } from './source.ts';

/** A constant matrix whose elements are a function of row and column. */
export function matrixOf(
  rows: number,
  columns: number,
  element: (row: number, column: number) => number,
): Value {
  const elements = Array.from({ length: rows * columns }, (_, i) =>
    element(Math.floor(i / columns), i % columns),
  );
  return constantTensor([rows, columns], elements);
}

/** Applies a linear map along an axis: a matrix [out, in] and […, in, …] give […, out, …]. */
export function alongAxis(value: Value, axis: number, matrix: Value): Value {
  const { shape } = value;
  if (axis === shape.length - 1) {
    return overRows(value, (rows) => gemm(rows, matrix, undefined, { transB: true }));
  }
  const inner = sizeOf(shape.slice(axis + 1));
  const columns = reshape(value, [sizeOf(shape.slice(0, axis)), shape[axis], inner]);
  return reshape(matmul(matrix, columns), shape.with(axis, matrix.shape[0]));
}

/**
 * Selects elements by ascending positions along an axis.
 *
 * @param mayRepeat if true, equally many copies of each element may be computed as repetitions. Default: true.
 */
export function copiesAlong(
  image: Value,
  axis: number,
  positions: readonly number[],
  mayRepeat = true,
): Value {
  const times = positions.length / image.shape[axis];
  // The gradient of repetitions is a sum, which is faster than the gradient of selected positions.
  const repeats =
    mayRepeat && Number.isInteger(times) && positions.every((from, to) => from === Math.floor(to / times));
  return repeats ? repeatEach(image, axis, times) : indexSelect(image, axis, positions);
}

/** Repeats each element along an axis: [a, b] repeated 3 times is [a, a, a, b, b, b]. */
function repeatEach(image: Value, axis: number, times: number): Value {
  if (times === 1) return image;
  const { shape } = image;
  const copies = expand(reshape(image, shape.toSpliced(axis + 1, 0, 1)), shape.toSpliced(axis + 1, 0, times));
  return reshape(copies, shape.with(axis, shape[axis] * times));
}
