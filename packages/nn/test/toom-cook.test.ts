import { describe, expect, test } from 'vitest';
import { largestTile, toomCook } from '../src/ops/toom-cook.ts';
import { fill } from './fill.ts';
import { expectClose } from './numeric.ts';

type Matrix = readonly (readonly number[])[];
const times = (matrix: Matrix, vector: readonly number[]) =>
  matrix.map((row) => row.reduce((sum, factor, column) => sum + factor * vector[column], 0));

const sizes = [1, 2, 3, 4, 5, 6, 7].flatMap((taps) =>
  Array.from({ length: largestTile(taps) }, (_, k) => [k + 1, taps] as const),
);

describe('toomCook against a plain correlation in double precision', () => {
  test.each(sizes)('%i results of %i taps', (tile, taps) => {
    const { products, outputTransform, weightTransform, inputTransform } = toomCook(tile, taps);
    expect(products).toBe(tile + taps - 1);
    const kernel = Array.from(fill([taps], 1));
    const data = Array.from(fill([products], 2));

    const atPoints = times(inputTransform, data);
    const multiplied = times(weightTransform, kernel).map((value, point) => value * atPoints[point]);
    const actual = times(outputTransform, multiplied);

    const expected = Array.from({ length: tile }, (_, k) =>
      kernel.reduce((sum, weight, j) => sum + weight * data[k + j], 0),
    );
    expectClose('correlation', actual, expected, 1e-13);
  });
});

test('seven finite points allow 8 products', () => {
  expect(largestTile(3)).toBe(6);
  expect(largestTile(5)).toBe(4);
  for (const [tile, taps] of sizes) expect(tile + taps - 1).toBeLessThanOrEqual(8);
});
