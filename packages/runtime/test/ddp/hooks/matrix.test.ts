import { expect, test } from 'vitest';
import {
  multiply,
  multiplyByTransposed,
  multiplyTransposed,
  orthogonalize,
  type Matrix,
} from '../../../src/ddp/hooks/matrix.ts';

function matrix(rows: number, columns: number, values: readonly number[] = []): Matrix {
  const data = new Float32Array(rows * columns);
  data.set(values);
  return { rows, columns, data };
}

test('multiplies a matrix by a thin matrix', () => {
  const m = matrix(2, 3, [1, 2, 3, 4, 5, 6]);
  const p = matrix(2, 2);
  multiply(m, matrix(3, 2, [1, 0, 0, 1, 1, 1]), p);
  expect([...p.data]).toEqual([4, 5, 10, 11]);
  const q = matrix(3, 2);
  multiplyTransposed(m, matrix(2, 2, [1, 0, 1, 1]), q);
  expect([...q.data]).toEqual([5, 4, 7, 5, 9, 6]);
  multiplyByTransposed(matrix(2, 1, [2, 3]), matrix(3, 1, [1, 10, 100]), m);
  expect([...m.data]).toEqual([2, 20, 200, 3, 30, 300]);
});

/** Transposed times itself. */
function gram({ rows, columns, data }: Matrix): number[] {
  const column = (k: number) => Array.from({ length: rows }, (_, row) => data[row * columns + k]);
  return Array.from({ length: columns ** 2 }, (_, i) => {
    const other = column(i % columns);
    return column(Math.floor(i / columns)).reduce((sum, value, row) => sum + value * other[row], 0);
  });
}

const identity = [1, 0, 0, 0, 1, 0, 0, 0, 1].map((value) => expect.closeTo(value, 6) as number);

test('orthonormalizes columns, even nearly dependent ones', () => {
  const m = matrix(4, 3, [1, 1, 2, 0, 1e-4, 3, 0, 0, -1, 0, 0, 5]);
  orthogonalize(m);
  expect(gram(m)).toEqual(identity);
  expect([m.data[0], m.data[4]]).toEqual([1, expect.closeTo(1, 6)]);
});

test('a linearly dependent column is redrawn, or set to zeros', () => {
  const values = [1, 2, 0, 2, 4, 0, 3, 6, 0, 4, 8, 0];
  const redrawn = matrix(4, 3, values);
  let draws = 0;
  orthogonalize(redrawn, (column) => {
    draws += 1;
    column.set([draws, 0, 0, 1]);
  });
  expect(draws).toBe(2);
  expect(gram(redrawn)).toEqual(identity);
  const zeroed = matrix(4, 3, values);
  orthogonalize(zeroed);
  expect(gram(zeroed)).toEqual([identity[0], 0, 0, 0, 0, 0, 0, 0, 0]);
});
