import type { DType } from './dtype.ts';

/** Element type and dimensions of a value. */
export interface ValueType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** The type with bfloat16 replaced by float32. */
export function inFloat32({ dtype, shape }: ValueType): ValueType {
  return { dtype: dtype === 'bfloat16' ? 'float32' : dtype, shape };
}

/** Number of elements of a shape; 1 for a scalar's []. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (const dimension of shape) size *= dimension;
  return size;
}

/** Formats a type for messages: `float32[64,1,28,28]`. */
export function describeType({ dtype, shape }: ValueType): string {
  return `${dtype}[${shape.join()}]`;
}
