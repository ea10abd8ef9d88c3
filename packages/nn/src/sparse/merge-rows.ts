import type { GradientRows } from '@ringrun/core';

/** Adds rows to a table, row-major. */
export function addRowsTo(table: Float32Array, { indices, values }: GradientRows, width: number): void {
  for (let position = 0; position < indices.length; position += 1) {
    const [from, to] = [position * width, indices[position] * width];
    for (let k = 0; k < width; k += 1) table[to + k] += values[from + k];
  }
}

/** The indices of two lists, in increasing order and without duplicates, as both lists. */
export function unionOf(a: Int32Array, b: Int32Array): Int32Array {
  const all = new Int32Array(a.length + b.length);
  let [i, j, count] = [0, 0, 0];
  while (i < a.length || j < b.length) {
    const index = j >= b.length || (i < a.length && a[i] <= b[j]) ? a[i] : b[j];
    if (a[i] === index) i += 1;
    if (b[j] === index) j += 1;
    all[count] = index;
    count += 1;
  }
  return all.subarray(0, count);
}

/**
 * Writes the sums of rows, in the order of the parts, divided by a number.
 *
 * @param indices the union of the indices of all parts
 * @param sums [indices.length, width]
 */
export function sumRows(
  parts: readonly GradientRows[],
  divisor: number,
  indices: Int32Array,
  sums: Float32Array,
): void {
  const width = indices.length === 0 ? 0 : sums.length / indices.length;
  sums.fill(0);
  for (const { indices: own, values } of parts) {
    let row = 0;
    for (let position = 0; position < own.length; position += 1) {
      while (indices[row] !== own[position]) row += 1;
      const [from, to] = [position * width, row * width];
      for (let k = 0; k < width; k += 1) sums[to + k] += values[from + k];
    }
  }
  if (divisor === 1) return;
  for (let i = 0; i < sums.length; i += 1) sums[i] /= divisor;
}
