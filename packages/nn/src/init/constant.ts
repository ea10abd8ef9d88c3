import { sizeOf } from '../value-type.ts';
import { Parameter } from '../tensor/parameter.ts';

/** A parameter filled with a constant. */
export function filledWith(value: number, shape: readonly number[]): Parameter {
  return new Parameter(new Float32Array(sizeOf(shape)).fill(value), shape);
}
