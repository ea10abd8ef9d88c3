import { expect, test } from 'vitest';
import type { Value } from '../../src/graph/node.ts';
import { isSameData } from '../../src/graph/same-data.ts';
import { structureOf } from '../../src/graph/structure.ts';
import { add, exp, mul } from '../../src/ops/elementwise.ts';
import { reshape, transpose } from '../../src/ops/shape.ts';
import { constant, input, number } from '../../src/ops/source.ts';

const leaf = (...shape: number[]) =>
  input('float32', shape, { data: new Float32Array(shape.reduce((a, b) => a * b, 1)) });

test.each<[string, () => Value, () => Value]>([
  ['arrays', () => exp(leaf(2, 3)), () => exp(leaf(2, 3))],
  ['numbers', () => mul(leaf(2), number(1)), () => mul(leaf(2), number(2))],
])('graphs that differ only in their %s share one program', (_, one, other) => {
  expect(structureOf([one()]).key.equals(structureOf([other()]).key)).toBe(true);
  expect(structureOf([one()]).key.hash).toBe(structureOf([other()]).key.hash);
});

const [x, y] = [leaf(2, 3), leaf(2, 3)];
test.each<[string, Value, Value]>([
  ['an operator', add(x, y), mul(x, y)],
  ['an edge', add(x, y), add(x, x)],
  ['the order of edges', add(exp(x), y), add(y, exp(x))],
  ['a shape', exp(leaf(2, 3)), exp(leaf(3, 2))],
  ['an attribute', reshape(x, [3, 2]), reshape(x, [6])],
  ['a list in an attribute', transpose(leaf(2, 2, 2), [0, 2, 1]), transpose(leaf(2, 2, 2), [1, 0, 2])],
  ['the sign of a zero', mul(x, constant(0)), mul(x, constant(-0))],
])('graphs that differ in %s are two programs', (_, one, other) => {
  expect(structureOf([one]).key.equals(structureOf([other]).key)).toBe(false);
});

test.each<[unknown, unknown, boolean]>([
  [{ a: [1, { b: NaN }] }, { a: [1, { b: NaN }] }, true],
  [{ a: 0 }, { a: -0 }, false],
  [[1, 2], [1, 2, 3], false],
  [[], {}, false],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1 }, { a: 1, b: undefined }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{}, undefined, false],
  ['1', 1, false],
])('%j and %j: the same data is %s', (a, b, expected) => {
  expect(isSameData(a, b)).toBe(expected);
  expect(isSameData(b, a)).toBe(expected);
});
