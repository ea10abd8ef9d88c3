import { requireBoolean } from '../checks/require-boolean.ts';
import { describeValue } from '../checks/describe-value.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { GradientTarget } from '../graph/gradient-target.ts';
import type { Value } from '../graph/node.ts';
import { isSameSequence } from '../graph/same-data.ts';
import { describeType, sizeOf, type ValueType } from '../value-type.ts';

/** The gradient of a tensor that is not a parameter: the sum of those of its backward passes. */
export class TensorGradient implements GradientTarget {
  elements: Float32Array | undefined;

  receive(elements: Float32Array): void {
    const { elements: earlier } = this;
    if (earlier === undefined) this.elements = elements;
    else for (let i = 0; i < earlier.length; i += 1) earlier[i] += elements[i];
  }
}

/** Requires elements that `grad` of a tensor may be set to. */
export function requireElements(given: unknown, tensor: ValueType): void {
  const length = sizeOf(tensor.shape);
  if (given === undefined || (given instanceof Float32Array && given.length === length)) return;
  throw new ArgumentError(
    `grad: expected undefined or a Float32Array of ${length} elements, got ${describeValue(given)}.`,
  );
}

/** Requires a value that may become a leaf with a gradient, or stop being one. */
export function requireChangeable(value: Value, requires: unknown, isComputed: boolean): void {
  requireBoolean('requiresGrad', requires);
  if (!isFloat(value)) {
    throw new ArgumentError(
      `requiresGrad: expected a tensor of float32, because only floats have gradients, got ${describeType(value)}. Convert it first: x.float().`,
    );
  }
  if (isComputed && requires === false) {
    throw new ArgumentError(
      `requiresGrad: expected a leaf, got ${describeType(value)}, which is computed from tensors with gradients. Call x.detach() to block its gradient.`,
    );
  }
}

/**
 * The gradient that a hook returns.
 *
 * @throws ArgumentError if it is not a tensor; ShapeError if it has another shape than the gradient
 */
export function requireGradient<T extends { readonly value: Value }>(
  where: string,
  given: unknown,
  kind: abstract new (...inputs: never[]) => T,
  expected: Value,
): T {
  if (!(given instanceof kind)) {
    throw new ArgumentError(
      `${where}: expected a tensor ${describeType(expected)} or undefined as gradient, got ${describeValue(given)}.`,
    );
  }
  const { value } = given;
  if (!isSameSequence(value.shape, expected.shape) || !isFloat(value)) {
    throw new ShapeError(
      `${where}: expected a gradient of the shape of its tensor, ${describeType(expected)}, got ${describeType(value)}.`,
    );
  }
  return given;
}
