/** Row-major; `data` may be a view of a larger array. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

/*
 * Products of a large matrix M [n, m] and a thin matrix of r columns. Sums are in float64 and in a fixed
 * order, so equal inputs have bit-identical results on every rank.
 */

/** into [n, r] = M [n, m] · q [m, r]. */
export function multiply(matrix: Matrix, q: Matrix, into: Matrix): void {
  const rank = q.columns;
  const sums = new Float64Array(rank);
  for (let row = 0; row < matrix.rows; row += 1) {
    sums.fill(0);
    const start = row * matrix.columns;
    for (let column = 0; column < matrix.columns; column += 1) {
      const value = matrix.data[start + column];
      for (let k = 0; k < rank; k += 1) sums[k] += value * q.data[column * rank + k];
    }
    into.data.set(sums, row * rank);
  }
}

/** into [m, r] = transposed M [n, m] · p [n, r]. */
export function multiplyTransposed(matrix: Matrix, p: Matrix, into: Matrix): void {
  const rank = p.columns;
  const sums = new Float64Array(matrix.columns * rank);
  for (let row = 0; row < matrix.rows; row += 1) {
    const start = row * matrix.columns;
    for (let column = 0; column < matrix.columns; column += 1) {
      const value = matrix.data[start + column];
      for (let k = 0; k < rank; k += 1) sums[column * rank + k] += value * p.data[row * rank + k];
    }
  }
  into.data.set(sums);
}

/** into [n, m] = p [n, r] · transposed q [m, r]. */
export function multiplyByTransposed(p: Matrix, q: Matrix, into: Matrix): void {
  const rank = p.columns;
  for (let row = 0; row < into.rows; row += 1) {
    for (let column = 0; column < into.columns; column += 1) {
      let sum = 0;
      for (let k = 0; k < rank; k += 1) sum += p.data[row * rank + k] * q.data[column * rank + k];
      into.data[row * into.columns + column] = sum;
    }
  }
}

/**
 * A column is linearly dependent on earlier columns if projecting them out leaves less than this fraction of
 * its length (float32 precision).
 */
const dependent = 1e-6;

/**
 * Orthonormalizes the columns of a thin matrix (modified Gram-Schmidt; each column is projected twice to
 * remove rounding errors).
 *
 * @param redraw refills a column that depends linearly on earlier columns. Default: such a column becomes 0.
 */
export function orthogonalize(
  { rows, columns, data }: Matrix,
  redraw?: (column: Float64Array) => void,
): void {
  const done: Float64Array[] = [];
  for (let k = 0; k < columns; k += 1) {
    let column = Float64Array.from({ length: rows }, (_, row) => data[row * columns + k]);
    if (!normalizeAgainst(column, done)) {
      column = new Float64Array(rows);
      redraw?.(column);
      normalizeAgainst(column, done);
    }
    for (let row = 0; row < rows; row += 1) data[row * columns + k] = column[row];
    done.push(column);
  }
}

/** Returns false, and sets the column to zeros, if it depends linearly on the others. */
function normalizeAgainst(column: Float64Array, others: readonly Float64Array[]): boolean {
  const length = Math.sqrt(dot(column, column));
  for (const other of [...others, ...others]) subtract(column, dot(column, other), other);
  const rest = Math.sqrt(dot(column, column));
  const independent = rest > dependent * length;
  for (let i = 0; i < column.length; i += 1) column[i] = independent ? column[i] / rest : 0;
  return independent;
}

function subtract(column: Float64Array, factor: number, other: Float64Array): void {
  for (let i = 0; i < column.length; i += 1) column[i] -= factor * other[i];
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}
