import type { Value } from '../../../src/graph/node.ts';
import type { OpName } from '../../../src/graph/operators.ts';
import * as elementwise from '../../../src/ops/elementwise.ts';
import { input } from '../../../src/ops/source.ts';
import type { Differentiable } from '../check-gradients.ts';

/** Functions of leaves whose gradients are checked, by operator and case. */
export type Cases = Partial<Record<OpName, Record<string, Differentiable>>>;

export const of = (build: Differentiable['build'], ...leaves: Differentiable['leaves']): Differentiable => ({
  leaves,
  build,
});

export const integers = (...values: number[]) =>
  input('int64', [values.length], { data: BigInt64Array.from(values, BigInt) });

/** The same function of two operands under every way to broadcast. */
export const broadcasting = (compute: (a: Value, b: Value) => Value): Record<string, Differentiable> => ({
  'equal shapes': of((a, b) => [compute(a, b)], [3, 5], [3, 5]),
  'row and column': of((a, b) => [compute(a, b)], [3, 1], [5]),
  'leading and inner dimensions': of((a, b) => [compute(a, b)], [4], [2, 1, 3, 1]),
  'scalar first': of((a, b) => [compute(a, b)], [], [2, 3]),
  'scalar second': of((a, b) => [compute(a, b)], [2, 3], []),
  'an operand with itself': of((a) => [compute(a, elementwise.mul(a, a))], [7]),
});

export const unary = (compute: (a: Value) => Value): Record<string, Differentiable> => ({
  'a matrix': of((a) => [compute(a)], [3, 5]),
  'a scalar': of((a) => [compute(a)], []),
});
