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
}

export const real: Constraint = { expected: 'numbers', accepts: (x) => !Number.isNaN(x) };
export const positive: Constraint = { expected: 'numbers above 0', accepts: (x) => x > 0 };
export const nonnegative: Constraint = { expected: 'numbers of at least 0', accepts: (x) => x >= 0 };
export const unitInterval: Constraint = {
  expected: 'numbers from 0 to 1',
  accepts: (x) => x >= 0 && x <= 1,
};
export const zeroOrOne: Constraint = { expected: '0 or 1', accepts: (x) => x === 0 || x === 1 };
export const integerBelow = (count: number): Constraint => ({
  expected: `integers from 0 to ${count - 1}`,
  accepts: (x) => Number.isInteger(x) && x >= 0 && x < count,
});

/**
 * Checks the elements that are known at the call: numbers and tensors made by `tensor(…)`. Computed tensors, parameters and buffers
 * are not read.
 */
export function requireConstraint(where: string, given: Tensor | number, constraint: Constraint): void {
  const check = (elements: Iterable<number | bigint>) => {
    for (const element of elements) {
      if (constraint.accepts(Number(element))) continue;
      throw new ArgumentError(`${where}: expected ${constraint.expected}, got ${element}.`);
    }
  };
  if (typeof given === 'number') check([given]);
  else if (!(given instanceof Parameter || given instanceof BufferTensor)) checkElements(given.value, check);
}
