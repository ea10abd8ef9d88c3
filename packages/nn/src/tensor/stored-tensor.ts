import { describeValue } from '../checks/describe-value.ts';
import { sizeOf } from '../value-type.ts';
import { isSameSequence } from '../graph/same-data.ts';

/** A copy of a float32 tensor in a state dict. */
export interface StoredTensor {
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: Float32Array;
}

/** A tensor of any dtype to load, such as those of ringrun's `loadSafetensors`. */
export interface LoadableTensor {
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: LoadableArray;
}

/** Elements convertible to float32: typed arrays, and 16-bit floats with `toFloat32`, as ringrun's `Float16Bits`. */
export type LoadableArray =
  | (ArrayBufferView & ArrayLike<number>)
  | BigInt64Array
  | BigUint64Array
  | (ArrayBufferView & ConvertsToFloat32);

/** An array that converts itself to float32. */
export interface ConvertsToFloat32 {
  /** Number of elements. */
  readonly length: number;
  /** Returns the elements as float32, in a new array. */
  toFloat32(): Float32Array;
}

/** The elements, rounded to float32. */
export function asFloat32(data: LoadableArray): Float32Array {
  if (data instanceof Float32Array) return data;
  if ('toFloat32' in data) return data.toFloat32();
  return Float32Array.from<number | bigint>(data, Number);
}

export function store(shape: readonly number[], data: Float32Array): StoredTensor {
  return { shape: [...shape], data: data.slice() };
}

/** Describes why a stored float32 tensor does not fit a shape; undefined if it fits. */
export function misfit(stored: unknown, shape: readonly number[]): string | undefined {
  const { data } = (stored ?? {}) as Partial<StoredTensor>;
  if (!(data instanceof Float32Array))
    return `must be { shape, data: Float32Array }, got ${describeValue(stored)}`;
  return loadableMisfit(stored, shape);
}

/** Describes why a stored tensor of any dtype cannot be loaded into a tensor of this shape; undefined if it can. */
export function loadableMisfit(stored: unknown, shape: readonly number[]): string | undefined {
  const { shape: given, data } = (stored ?? {}) as Partial<LoadableTensor>;
  if (!ArrayBuffer.isView(data) || data instanceof DataView || !Array.isArray(given)) {
    return `must be { shape, data: a typed array }, got ${describeValue(stored)}`;
  }
  if (!isSameSequence(given, shape)) return `must have shape [${shape.join(',')}], got [${given.join(',')}]`;
  if (data.length !== sizeOf(shape)) {
    return `must have ${sizeOf(shape)} elements for shape [${shape.join(',')}], got ${data.length}`;
  }
  return undefined;
}
