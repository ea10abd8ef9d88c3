import type { TensorData } from '../dtype.ts';

declare const opaque: unique symbol;

/**
 * The elements of a value in the memory of an executor, row-major. Only the executor reads and writes them: other code
 * calls its `allocate`, `upload` and `download`, or has a `ManagedBuffer`. So an executor may place values elsewhere, such
 * as on a GPU.
 *
 * A buffer on the host is its array, so that passing one costs nothing.
 */
export interface ValueBuffer {
  readonly [opaque]: true;
}

/** The buffer of an array, for an executor whose values all lie on the host: runs read and write the array itself. */
export function onHost(array: TensorData): ValueBuffer {
  return array as unknown as ValueBuffer;
}

/** The buffers of arrays, for such an executor. */
export function allOnHost(arrays: readonly TensorData[]): readonly ValueBuffer[] {
  return arrays as readonly unknown[] as readonly ValueBuffer[];
}

/** The arrays of buffers, for such an executor. */
export function hostArrays(buffers: readonly ValueBuffer[]): readonly TensorData[] {
  return buffers as readonly unknown[] as readonly TensorData[];
}
