import { describe, expect, test } from 'vitest';
import { describeSize, valueOf } from '../../../src/onnx/export/size-expression.ts';
import { batchSizes, SizeSamples, sizesUpTo } from '../../../src/onnx/export/size-samples.ts';
import { expressionOf } from '../../../src/onnx/export/size-solver.ts';

const { samples } = SizeSamples.of([
  { name: 'batch', ...batchSizes(1) },
  { name: 'length', ...sizesUpTo(64) },
]);
const known = samples.names.map((_, index) => ({
  expression: { op: 'Dimension', index } as const,
  column: samples.calls.map((call) => call[index]),
}));

function solved(compute: (n: number, l: number) => number) {
  return expressionOf(
    samples.calls.map(([n, l]) => compute(n, l)),
    known,
  );
}

describe('an expression of observed numbers holds for all other sizes', () => {
  test.each<[string, (n: number, l: number) => number, string]>([
    ['a size', (n) => n, 'batch'],
    ['a sum', (n) => 2 * n - 1, '2*batch-1'],
    ['a product', (n, l) => 3 * n * l, '3*batch*length'],
    ['a sum of products', (n, l) => n * l + n + 5, 'batch*length+batch+5'],
    ['a quotient that is rounded down', (n) => Math.floor(n / 2), 'floor((batch)/2)'],
    ['windows of a pool', (_, l) => Math.floor((l - 3) / 2) + 1, 'floor((length-1)/2)'],
    ['a multiple of a rounded quotient', (n) => 3 * Math.ceil(n / 3), '3*floor((batch+2)/3)'],
    ['a lower bound', (n) => Math.max(n - 3, 0), 'max(batch-3, 0)'],
    ['an upper bound', (n) => Math.min(n, 50), 'min(batch, 50)'],
    ['the smaller size', (n, l) => Math.min(n, l), 'min(batch, length)'],
    ['the distance to the next multiple of 4', (n) => (4 - (n % 4)) % 4, '-4*floor((batch)/4)+[0,3,2,1]'],
    ['a reciprocal', (n) => 1 / (n - 1), 'div(1, batch-1)'],
    ['0 of either sign', (n) => 0 * (n - 3), '0'],
    ['a fraction', (n) => n / 4 + 0.5, '0.25*batch+0.5'],
  ])('%s', (_, compute, written) => {
    const expression = solved(compute)!;
    if (!written.includes('[')) expect(describeSize(expression, samples.names)).toBe(written);
    for (let n = 1; n < 300; n += 1) {
      const l = ((n * 7) % 64) + 1;
      expect(valueOf(expression, [n, l]), `${n} and ${l}`).toBeCloseTo(compute(n, l), 9);
    }
  });
});

describe('finds no expression for', () => {
  test.each<[string, (n: number, l: number) => number]>([
    ['a root', (n) => Math.sqrt(n)],
    ['a logarithm', (n) => Math.ceil(Math.log2(n))],
    ['a number that only one size has', (n) => (n === 3 ? 2 : 5)],
    ['a number that only large sizes have', (n) => (n > 1000 ? 2 : 5)],
    ['a remainder that was observed rarely', (n) => n % 29],
    ['a bound that only one observed size exceeds', (n) => Math.max(n - 1000, 0)],
    ['0 divided by 0', (n) => (n - 1) / (n - 1)],
  ])('%s', (_, compute) => {
    expect(solved(compute)).toBeUndefined();
  });
});

test('batches are small ones, and large ones that are multiples of the given one', () => {
  const { required, optional } = batchSizes(4);
  expect(required.every((size) => size % 4 === 0)).toBe(true);
  expect(required).toContain(4);
  expect(Math.max(...required)).toBeGreaterThan(1000);
  expect(optional).toEqual(expect.arrayContaining([1, 2, 3, 5, 7]));
});

test('every size is combined with several of the other', () => {
  const lengths = new Set(samples.calls.filter(([, length]) => length === 64).map(([batch]) => batch));
  expect(lengths.size).toBeGreaterThan(3);
  expect(samples.calls.some(([batch, length]) => batch !== 1 && length === 1)).toBe(true);
});
