import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';

/** Names of the dimensions of images of one, two and three axes. */
const layouts = ['NCL', 'NCHW', 'NCDHW'];

/**
 * The shape of float32 images, [N, C, …].
 *
 * @param op the function without its number of axes, such as conv
 * @param axes the number of dimensions after N and C
 * @throws ShapeError for any other dtype or number of dimensions, and for axes without elements
 */
export function requireImages(op: string, value: Value, axes: number): readonly number[] {
  if (!isFloat(value) || value.shape.length !== axes + 2) {
    throw new ShapeError(
      `${op}${axes}d: expected float32 with ${axes + 2} dimensions (${layouts[axes - 1]}), got ${describeType(value)}.`,
    );
  }
  if (value.shape.slice(2).includes(0)) {
    throw new ShapeError(
      `${op}: expected at least one element along each axis after the channels, got ${describeType(value)}.`,
    );
  }
  return value.shape;
}
