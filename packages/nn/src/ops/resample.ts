import { sizeOf, type Value } from '../graph/node.ts';
import { gemm, matmul, overRows } from './linear-algebra.ts';
import { reshape } from './shape.ts';
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
