import { ArgumentError } from '../errors/errors.ts';
import { checkElements } from '../graph/element-checks.ts';
import { BufferTensor } from '../tensor/buffer-tensor.ts';
import { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';

/** Numbers that a parameter or a value of a distribution may be (torch.distributions.constraints). */
export interface Constraint {
  /** The numbers in words, as in "expected numbers above 0". */
  readonly expected: string;
  /** True for a number that is accepted. */
  readonly accepts: (number: number) => boolean;
  /** True for a vector along the last dimension that is accepted. Default: true if its numbers are. */
  readonly acceptsVector?: (vector: readonly number[]) => boolean;
}

export const real: Constraint = { expected: 'numbers', accepts: (x) => !Number.isNaN(x) };
export const positive: Constraint = { expected: 'numbers above 0', accepts: (x) => x > 0 };
export const nonnegative: Constraint = { expected: 'numbers of at least 0', accepts: (x) => x >= 0 };
export const unitInterval: Constraint = interval(0, 1);
export const zeroOrOne: Constraint = { expected: '0 or 1', accepts: (x) => x === 0 || x === 1 };
export const nonnegativeInteger: Constraint = {
  expected: 'integers of at least 0',
  accepts: (x) => Number.isInteger(x) && x >= 0,
};
export const simplex: Constraint = {
  expected: 'vectors of numbers of at least 0 with the sum 1',
  accepts: (x) => x >= 0,
  acceptsVector: (vector) => Math.abs(sumOf(vector) - 1) < 1e-6,
};
export const oneHotVector: Constraint = {
  expected: 'vectors of one 1 and otherwise 0',
  accepts: zeroOrOne.accepts,
  acceptsVector: (vector) => sumOf(vector) === 1,
};

/** Numbers from `low` to `high`. */
export function interval(low: number, high: number): Constraint {
  return { expected: `numbers from ${low} to ${high}`, accepts: (x) => x >= low && x <= high };
}

export const integerBelow = (count: number): Constraint => ({
  expected: `integers from 0 to ${count - 1}`,
  accepts: (x) => Number.isInteger(x) && x >= 0 && x < count,
});

/** Vectors that count `total` outcomes. */
export const countsOf = (total: number): Constraint => ({
  expected: `vectors of integers of at least 0 with the sum ${total}`,
  accepts: nonnegativeInteger.accepts,
  acceptsVector: (vector) => sumOf(vector) === total,
});

/**
 * Checks the elements that are known at the call: numbers and tensors made by `tensor(…)`. Computed tensors, parameters and buffers
 * are not read.
 */
export function requireConstraint(where: string, given: Tensor | number, constraint: Constraint): void {
  const { accepts, acceptsVector, expected } = constraint;
  const refuse = (got: unknown) => new ArgumentError(`${where}: expected ${expected}, got ${String(got)}.`);
  const check = (elements: Iterable<number | bigint>) => {
    for (const element of elements) if (!accepts(Number(element))) throw refuse(element);
    if (acceptsVector === undefined || typeof given === 'number') return;
    for (const vector of vectorsOf(elements, given.shape.at(-1) ?? 1)) {
      if (!acceptsVector(vector)) throw refuse(`[${vector.join(', ')}]`);
    }
  };
  if (typeof given === 'number') check([given]);
  else if (!(given instanceof Parameter || given instanceof BufferTensor)) checkElements(given.value, check);
}

function vectorsOf(elements: Iterable<number | bigint>, length: number): number[][] {
  const all = Array.from(elements, Number);
  return Array.from({ length: all.length / Math.max(1, length) }, (_, i) =>
    all.slice(i * length, (i + 1) * length),
  );
}

function sumOf(vector: readonly number[]): number {
  return vector.reduce((sum, x) => sum + x, 0);
}
