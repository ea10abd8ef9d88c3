/** Row-major. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: Float32Array;
}

export function matrix(rows: number, columns: number, value: (i: number) => number = () => 0): Matrix {
  return { rows, columns, data: Float32Array.from({ length: rows * columns }, (_, i) => value(i)) };
}

/** a·b, with the sums in double precision, in the order of a's columns. */
export function multiply(a: Matrix, b: Matrix): Matrix {
  return matrix(a.rows, b.columns, (i) => {
    const [row, column] = [Math.floor(i / b.columns), i % b.columns];
    let sum = 0;
    for (let k = 0; k < a.columns; k += 1)
      sum += a.data[row * a.columns + k] * b.data[k * b.columns + column];
    return sum;
  });
}

export function transposed({ rows, columns, data }: Matrix): Matrix {
  return matrix(columns, rows, (i) => data[(i % rows) * columns + Math.floor(i / rows)]);
}

/** Orthonormal columns by Gram-Schmidt in double precision. A column that depends on earlier columns becomes 0. */
export function orthonormal({ rows, columns, data }: Matrix): Matrix {
  const done: number[][] = [];
  for (let k = 0; k < columns; k += 1) {
    let column = Array.from({ length: rows }, (_, row) => data[row * columns + k]);
    const length = Math.sqrt(dot(column, column));
    for (const other of [...done, ...done]) {
      const factor = dot(column, other);
      column = column.map((value, row) => value - factor * other[row]);
    }
    const rest = Math.sqrt(dot(column, column));
    done.push(column.map((value) => (rest > 1e-6 * length ? value / rest : 0)));
  }
  return matrix(rows, columns, (i) => done[i % columns][Math.floor(i / columns)]);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * b[i], 0);
}
