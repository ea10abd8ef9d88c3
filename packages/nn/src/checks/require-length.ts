import type { TensorData } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { describeType, sizeOf, type ValueType } from '../value-type.ts';

/** @throws ShapeError if the length of an array does not match a shape */
export function requireLength({ length }: TensorData, { dtype, shape }: ValueType): void {
  const valid = shape.every((dimension) => Number.isInteger(dimension) && dimension >= 0);
  if (valid && sizeOf(shape) === length) return;
  throw new ShapeError(
    `tensor: expected ${sizeOf(shape)} elements for ${describeType({ dtype, shape })}, got ${length}.${length === 0 ? whyEmpty : ''}`,
  );
}

/** The usual reason for an empty array: its buffer was detached. */
const whyEmpty =
  ' An array becomes empty when its memory is transferred to another thread, or to a later batch of a DataLoader with ' +
  'reuseMemory, whose batches are valid until the next one is requested. Copy data that you need longer.';
