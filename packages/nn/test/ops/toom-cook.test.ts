import { describe, expect, test } from 'vitest';
import {
  largestStridedTile,
  largestTile,
  tilesOf,
  toomCook,
  transposedTilesOf,
  type TileTransforms,
} from '../../src/ops/toom-cook.ts';
import { fill } from '../support/fill.ts';
import { expectClose } from '../support/numeric.ts';

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

const strided = [1, 2, 3, 4].flatMap((stride) =>
  [1, 2, 3, 5, 7].flatMap((taps) =>
    Array.from({ length: largestStridedTile(taps, stride) }, (_, k) => [k + 1, taps, stride] as const),
  ),
);

describe('tiles of a correlation with a stride', () => {
  const results = (
    { outputTransform, weightTransform, inputTransform }: TileTransforms,
    kernel: number[],
    data: number[],
  ) => {
    const atPoints = times(inputTransform, data);
    const multiplied = times(weightTransform, kernel).map((value, point) => value * atPoints[point]);
    return times(outputTransform, multiplied);
  };
  const left = 1;

  test.each(strided)('%i results of %i taps with a stride of %i', (tile, taps, stride) => {
    const tiles = tilesOf(tile, taps, stride, left);
    const kernel = Array.from(fill([taps], 1));
    const data = Array.from(fill([tiles.inputTransform[0].length], 2));
    const expected = Array.from({ length: tile }, (_, k) =>
      kernel.reduce((sum, weight, j) => sum + weight * data[k * stride + j], 0),
    );
    expect(tiles.start).toBe(-left);
    expectClose('correlation', results(tiles, kernel, data), expected, 1e-13);
  });

  test.each(strided)('its transpose: %i results of %i taps with a stride of %i', (tile, taps, stride) => {
    const tiles = transposedTilesOf(tile, taps, stride, left);
    const kernel = Array.from(fill([taps], 1));
    const data = Array.from(fill([tiles.inputTransform[0].length], 2));
    // Column `place` of the tile meets tap j of result k if k·stride + j − left = place.
    const expected = Array.from({ length: tile * stride }, (_, place) =>
      data.reduce((sum, value, index) => {
        const tap = place + left - (index + tiles.start) * stride;
        return sum + value * (kernel[tap] ?? 0);
      }, 0),
    );
    expectClose('transpose', results(tiles, [...kernel].reverse(), data), expected, 1e-13);
  });
});
