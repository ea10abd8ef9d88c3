import { sizeOf } from './graph/node.ts';

/** A float32 tensor in a state dict: a copy that nothing else changes. */
export interface StoredTensor {
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: Float32Array;
}

/** A tensor of any dtype that is to be loaded, such as `loadSafetensors` of ringrun gives. */
export interface LoadableTensor {
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: LoadableArray;
}

/** Elements that become float32: numbers, bigints, and 16-bit floats in a class that converts them, as `Float16Bits` and `BFloat16Bits` of ringrun do. */
export type LoadableArray =
  | (ArrayBufferView & ArrayLike<number>)
  | BigInt64Array
  | BigUint64Array
  | (ArrayBufferView & ConvertsToFloat32);

interface ConvertsToFloat32 {
  readonly length: number;
  toFloat32(): Float32Array;
}

/** The elements, rounded to float32 where they are wider. */
export function asFloat32(data: LoadableArray): Float32Array {
  if (data instanceof Float32Array) return data;
  if ('toFloat32' in data) return data.toFloat32();
  return Float32Array.from<number | bigint>(data, Number);
}

export function store(shape: readonly number[], data: Float32Array): StoredTensor {
  return { shape: [...shape], data: data.slice() };
}

/** How a float32 tensor differs from a tensor of this shape, in words; undefined when it fits. */
export function misfit(stored: unknown, shape: readonly number[]): string | undefined {
  const { data } = (stored ?? {}) as Partial<StoredTensor>;
  if (!(data instanceof Float32Array))
    return `is not { shape, data: Float32Array }, but ${describeValue(stored)}`;
  return loadableMisfit(stored, shape);
}

/** How a tensor of any dtype differs from a tensor of this shape, in words; undefined when it can be loaded into one. */
export function loadableMisfit(stored: unknown, shape: readonly number[]): string | undefined {
  const { shape: given, data } = (stored ?? {}) as Partial<LoadableTensor>;
  if (!ArrayBuffer.isView(data) || data instanceof DataView || !Array.isArray(given)) {
    return `is not { shape, data: a typed array }, but ${describeValue(stored)}`;
  }
  const same = given.length === shape.length && shape.every((size, axis) => size === given[axis]);
  if (!same) return `has shape [${given.join(',')}], expected [${shape.join(',')}]`;
  if (data.length !== sizeOf(shape)) return `has ${data.length} elements for the shape [${shape.join(',')}]`;
  return undefined;
}

/** A value of a wrong kind, as messages name it. */
export function describeValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return `an object of ${(value as { constructor?: { name?: string } }).constructor?.name ?? 'no class'}`;
}
