import { describeType, sizeOf } from './graph/node.ts';

/** A float32 tensor in a state dict: a copy that nothing else changes. */
export interface StoredTensor {
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: Float32Array;
}

export function store(shape: readonly number[], data: Float32Array): StoredTensor {
  return { shape: [...shape], data: data.slice() };
}

/** How what is stored differs from a tensor of this shape, in words; undefined when it fits. */
export function misfit(stored: unknown, shape: readonly number[]): string | undefined {
  const { shape: given, data } = (stored ?? {}) as Partial<StoredTensor>;
  if (!(data instanceof Float32Array) || !Array.isArray(given)) {
    return `is no { shape, data: Float32Array }, but ${describeValue(stored)}`;
  }
  const same = given.length === shape.length && shape.every((size, axis) => size === given[axis]);
  if (!same) {
    return `is ${describeType({ dtype: 'float32', shape: given })}, expected ${describeType({ dtype: 'float32', shape })}`;
  }
  if (data.length !== sizeOf(shape))
    return `has ${data.length} elements for ${describeType({ dtype: 'float32', shape })}`;
  return undefined;
}

/** A value of a wrong kind, as messages name it. */
export function describeValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return `an object of ${(value as { constructor?: { name?: string } }).constructor?.name ?? 'no class'}`;
}
