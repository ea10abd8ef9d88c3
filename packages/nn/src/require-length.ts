import type { TensorData } from './dtype.ts';
import { ShapeError } from './errors.ts';
import { describeType, sizeOf, type ValueType } from './graph/node.ts';

/** @throws ShapeError where an array does not have the elements of a shape */
export function requireLength({ length }: TensorData, { dtype, shape }: ValueType): void {
  const valid = shape.every((dimension) => Number.isInteger(dimension) && dimension >= 0);
  if (valid && sizeOf(shape) === length) return;
  throw new ShapeError(
    `tensor: ${describeType({ dtype, shape })} takes ${sizeOf(shape)} elements, the array has ${length}.${length === 0 ? whyEmpty : ''}`,
  );
}

/** Arrays do not become so by themselves. */
const whyEmpty =
  ' An array is emptied where its memory is handed on: to another thread, or to a later batch of a DataLoader with reuseMemory, whose batches are there until the next ' +
  'one is asked for. Copy what is needed longer.';
