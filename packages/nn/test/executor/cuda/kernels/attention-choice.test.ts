import { describe, expect, test } from 'vitest';
import {
  roundsOf,
  rowFormOf,
  rowStrideOf,
  scoreBytes,
  takesProducts,
} from '../../../../src/executor/cuda/kernels/attention-choice.ts';
import { matricesInPlace } from '../../../../src/executor/cuda/kernels/head-matrices.ts';
import type { AttentionPlaces } from '../../../../src/graph/attributes.ts';

/** Heads [heads, rows, size] in order. */
function placesOf(
  heads: number,
  queries: number,
  keys: number,
  size = 64,
  valueSize = size,
): AttentionPlaces {
  const layout = (rows: number, width: number) => ({ first: 0, strides: [rows * width, width] });
  return {
    batch: [heads],
    lengths: [queries, keys],
    sizes: [size, valueSize],
    operands: [layout(queries, size), layout(keys, size), layout(keys, valueSize)],
    result: layout(queries, valueSize),
    targets: [0, 1, 2],
  };
}

describe('attention by products', () => {
  test.each(['float32', 'bfloat16'] as const)('takes many long rows, %s', (dtype) => {
    expect(takesProducts(placesOf(192, 256, 256), dtype)).toBe(true);
    expect(takesProducts(placesOf(64, 128, 128), dtype)).toBe(true);
    expect(takesProducts(placesOf(1, 4096, 4096), dtype)).toBe(true);
  });

  test('does not take what tiles compute in fewer launches', () => {
    expect(takesProducts(placesOf(0, 256, 256), 'bfloat16')).toBe(false);
    expect(takesProducts(placesOf(15, 256, 256), 'bfloat16')).toBe(false);
    expect(takesProducts(placesOf(1000, 1, 4096), 'bfloat16')).toBe(false);
    expect(takesProducts(placesOf(1000, 256, 127), 'bfloat16')).toBe(false);
  });

  test('does not take rows that are not whole vectors, or one head with too many scores', () => {
    expect(takesProducts(placesOf(192, 256, 256, 60), 'bfloat16')).toBe(false);
    expect(takesProducts(placesOf(192, 256, 256, 60), 'float32')).toBe(true);
    expect(takesProducts(placesOf(192, 256, 256, 64, 33), 'float32')).toBe(false);
    expect(takesProducts(placesOf(1, 5120, 8192), 'bfloat16')).toBe(false);
    expect(takesProducts(placesOf(1, 128, 8193), 'bfloat16')).toBe(false);
  });
});

test('rounds have equal numbers of heads, as many as fit', () => {
  expect(roundsOf(placesOf(192, 256, 256), 12)).toEqual([{ first: 0, heads: 192 }]);
  const rounds = roundsOf(placesOf(7, 10, 12), 8, 8 * 10 * 16 * 3);
  expect(rounds).toEqual([
    { first: 0, heads: 2 },
    { first: 2, heads: 2 },
    { first: 4, heads: 3 },
  ]);
  expect(roundsOf(placesOf(2, 10, 12), 8, 1).map(({ heads }) => heads)).toEqual([1, 1]);
  expect(12 * 256 * 256 * 192).toBeLessThan(scoreBytes);
});

test('a row of scores fits into the registers of its threads', () => {
  for (let keys = 1; keys <= 8192; keys += 1) {
    const { threads, groups } = rowFormOf(keys)!;
    expect(rowStrideOf(keys)).toBeLessThanOrEqual(4 * threads * groups);
  }
  expect(rowFormOf(256)).toEqual({ threads: 32, groups: 2 });
  expect(rowFormOf(8193)).toBeUndefined();
});

test('a product reads heads in place that have one distance and begin at multiples of 16 bytes', () => {
  const at = { arena: 256 };
  const placeOf = (first: number, strides: readonly number[], batch: readonly number[]) =>
    matricesInPlace({ at, layout: { first, strides } }, batch, 2);
  expect(placeOf(8, [3072, 1024, 64], [2, 3])).toEqual({
    at: { arena: 272 },
    rowStride: 64,
    batchStride: 1024,
  });
  expect(placeOf(0, [4096, 64, 192], [1, 3])).toEqual({ at, rowStride: 192, batchStride: 64 });
  expect(placeOf(0, [64], [])).toEqual({ at, rowStride: 64, batchStride: 0 });
  expect(placeOf(0, [4096, 64, 192], [2, 3])).toBeUndefined();
  expect(placeOf(4, [3072, 1024, 64], [2, 3])).toBeUndefined();
  expect(placeOf(0, [3072, 1024, 60], [2, 3])).toBeUndefined();
});
