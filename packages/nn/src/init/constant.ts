import { sizeOf } from '../graph/node.ts';
import { Parameter } from '../parameter.ts';

/** A parameter filled with one number. */
export function filledWith(value: number, shape: readonly number[]): Parameter {
  return new Parameter(new Float32Array(sizeOf(shape)).fill(value), shape);
}
