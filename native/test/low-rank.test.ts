import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';

import { loadNative } from '@ringrun/native';

import { ways } from '../../test/support/extent.ts';
import { matrix, multiply, orthonormal, transposed, type Matrix } from './support/low-rank.ts';

const native = loadNative();

/** Between −1 and 1, without linear dependence. */
const filled = (rows: number, columns: number, seed: number) =>
  matrix(rows, columns, (i) => (((i + 1) * (7919 + 104 * seed) * (i + 3)) % 10_007) / 5003.5 - 1);
const integers = (rows: number, columns: number, seed: number) =>
  matrix(rows, columns, (i) => ((i * 7 + seed) % 9) - 4);

const sizes = [1, 3, 8, 17, 260].flatMap((rows) =>
  [1, 5, 8, 16, 31, 300].map((columns) => ({ rows, columns })),
);
const ranks = [1, 2, 3, 4, 5, 8, 11];

/** The same numbers, one element away from any alignment. */
function unaligned({ data }: Matrix): Float32Array {
  const memory = new Float32Array(data.length + 1);
  memory.set(data, 1);
  return memory.subarray(1);
}

/** Every element differs by at most an ulp of the largest. */
function expectClose(found: Float32Array, { data }: Matrix, what: string): void {
  const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const wrong = found.findIndex((value, i) => !(Math.abs(value - data[i]) <= 2 ** -23 * largest));
  if (wrong >= 0) expect.fail(`${what}: element ${wrong} is ${found[wrong]}, expected ${data[wrong]}`);
  expect(found).toHaveLength(data.length);
}

test.each(ranks)('factors of rank %i and their product equal plain arithmetic', (rank) => {
  for (const { rows, columns } of sizes) {
    const what = `[${rows}, ${columns}]`;
    const [m, p, q] = [filled(rows, columns, 1), filled(rows, rank, 2), filled(columns, rank, 3)];
    const left = new Float32Array(rows * rank);
    native.leftFactor(unaligned(m), undefined, unaligned(q), left, rank);
    expectClose(left, multiply(m, q), `M·Q of ${what}`);
    const right = new Float32Array(columns * rank);
    native.rightFactor(unaligned(m), unaligned(p), right, rank);
    // The sums have the same order.
    expect(right, `transposed M·P of ${what}`).toEqual(multiply(transposed(m), p).data);
    const product = new Float32Array(rows * columns + 1).fill(7);
    native.productOfFactors(unaligned(p), unaligned(q), product.subarray(1), undefined, rank);
    expect(product.subarray(1), `P·transposed Q of ${what}`).toEqual(multiply(p, transposed(q)).data);
    expect(product[0]).toBe(7);
  }
});

test.each(ways([1, 4, 11], [2, 3, 5, 8]))(
  'with an error, rank %i: the error is what the factors do not represent',
  (rank) => {
    for (const { rows, columns } of sizes) {
      const [m, e, p, q] = [
        integers(rows, columns, 1),
        integers(rows, columns, 2),
        integers(rows, rank, 3),
        integers(columns, rank, 4),
      ];
      const sum = matrix(rows, columns, (i) => m.data[i] + e.data[i]);
      const error = unaligned(e);
      const gradient = m.data.slice();
      const left = new Float32Array(rows * rank);
      native.leftFactor(gradient, error, q.data, left, rank);
      expect(left).toEqual(multiply(sum, q).data);
      expect(error).toEqual(sum.data);
      expect(gradient).toEqual(m.data);
      native.productOfFactors(p.data, q.data, gradient, error, rank);
      const product = multiply(p, transposed(q)).data;
      expect(gradient).toEqual(product);
      expect(error).toEqual(sum.data.map((value, i) => value - product[i]));
    }
  },
);

const gramOf = (data: Float32Array, rows: number, columns: number) => {
  const factor = { rows, columns, data };
  return multiply(transposed(factor), factor).data;
};
const identity = (size: number, zeros: readonly number[] = []) =>
  Float32Array.from({ length: size ** 2 }, (_, i) =>
    i % (size + 1) === 0 && !zeros.includes(i / (size + 1)) ? 1 : 0,
  );

function expectNear(found: Float32Array, expected: Float32Array): void {
  for (const [i, value] of found.entries()) expect(value, `element ${i}`).toBeCloseTo(expected[i], 6);
}

test.each(ranks)('orthonormalizes %i columns as plain arithmetic does', (columns) => {
  for (const rows of [columns, columns + 1, 37, 300].filter((size) => size >= columns)) {
    const factor = filled(rows, columns, 5);
    const found = unaligned(factor);
    expect(native.orthonormalize(found, columns)).toEqual([]);
    expectNear(gramOf(found, rows, columns), identity(columns));
    if (rows > 30 && columns <= 4)
      for (const [i, value] of orthonormal(factor).data.entries()) expect(found[i]).toBeCloseTo(value, 5);
  }
});

test('orthonormalizes nearly dependent columns', () => {
  const data = Float32Array.of(1, 1, 2, 0, 1e-4, 3, 0, 0, -1, 0, 0, 5);
  expect(native.orthonormalize(data, 3)).toEqual([]);
  expectNear(gramOf(data, 4, 3), identity(3));
  expect([data[0], data[4]]).toEqual([1, expect.closeTo(1, 6)]);
});

test('columns that depend on earlier ones, and columns of zeros, become 0 and are returned', () => {
  const data = Float32Array.of(1, 2, 0, 2, 2, 4, 0, -1, 3, 6, 0, 0.5, 4, 8, 0, 7);
  expect(native.orthonormalize(data, 4)).toEqual([1, 2]);
  expectNear(gramOf(data, 4, 4), identity(4, [1, 2]));
  // One row has one direction.
  const row = Float32Array.of(-3, 5);
  expect(native.orthonormalize(row, 2)).toEqual([1]);
  expect([...row]).toEqual([-1, 0]);
});

test('the lengths of columns neither overflow nor underflow', () => {
  for (const scale of [1e38, 1e-38]) {
    const data = Float32Array.of(scale, 0, scale, scale);
    expect(native.orthonormalize(data, 2)).toEqual([]);
    expectNear(gramOf(data, 2, 2), identity(2));
  }
});

test('NaN and infinity are not hidden', () => {
  for (const bad of [NaN, Infinity]) {
    const data = Float32Array.of(1, bad, 2, 3);
    expect(native.orthonormalize(data, 2)).toEqual([]);
    expect(data.some(Number.isNaN)).toBe(true);
  }
});

test('bits are the same on every processor', () => {
  const [rows, columns, rank] = [83, 61, 5];
  const hash = createHash('sha256');
  const m = integers(rows, columns, 3).data.map((value) => value / 7);
  const error = new Float32Array(m.length);
  const q = integers(columns, rank, 1).data.map((value, i) => value + (i % 4) / 3);
  const p = new Float32Array(rows * rank);
  for (let step = 0; step < 3; step += 1) {
    native.orthonormalize(q, rank);
    native.leftFactor(m, error, q, p, rank);
    native.orthonormalize(p, rank);
    native.rightFactor(error, p, q, rank);
    native.productOfFactors(p, q, m, error, rank);
    for (const one of [m, error, p, q]) hash.update(one);
  }
  expect(hash.digest('hex').slice(0, 16)).toBe('fd335be13994be5c');
});

test('rejects arrays whose lengths do not fit together', () => {
  const floats = (length: number) => new Float32Array(length);
  expect(() => {
    native.leftFactor(floats(6), undefined, floats(3), floats(3), 1);
  }).toThrow(
    RangeError(
      'factors of rank 1 have 3 and 3 elements, which does not fit a matrix of 6 elements and an error of 0',
    ),
  );
  expect(() => {
    native.productOfFactors(floats(4), floats(4), floats(4), floats(3), 2);
  }).toThrow(RangeError);
  expect(() => {
    native.rightFactor(floats(6), floats(3), floats(3), 2);
  }).toThrow(RangeError);
  expect(() => native.orthonormalize(floats(5), 2)).toThrow(RangeError);
  expect(() => native.orthonormalize(floats(5), 0)).toThrow('rank: expected at least 1, got 0');
  expect(() => {
    native.rightFactor(new Float64Array(6) as unknown as Float32Array, floats(3), floats(2), 1);
  }).toThrow(TypeError);
});
