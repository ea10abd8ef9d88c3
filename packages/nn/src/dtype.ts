import { BFloat16Bits } from '@ringrun/core';
import { ArgumentError } from './errors/errors.ts';

/**
 * Element types of tensors. Training uses float32, and bfloat16 inside `autocast`; labels and indices are int64, as in torch;
 * comparisons return bool.
 */
export type DType = FloatDType | 'int64' | 'bool';

/** Element types of tensors that have gradients. */
export type FloatDType = 'float32' | 'bfloat16';

/** True for a tensor, a value or a type of floating-point elements. */
export function isFloat({ dtype }: { readonly dtype: DType }): boolean {
  return dtype === 'float32' || dtype === 'bfloat16';
}

/** The JavaScript array that holds the elements of a tensor, row-major. */
export interface ArrayOf {
  /** IEEE 754 binary32. */
  float32: Float32Array;
  /** The upper half of a float32, which only programs store: elements are numbers that bfloat16 represents. */
  bfloat16: Float32Array;
  /** Signed, 64 bits; elements are bigints. */
  int64: BigInt64Array;
  /** One byte per element, 0 or 1. */
  bool: Uint8Array;
}

/** Of the array that holds the elements of a tensor. */
export const bytesPerElement: Readonly<Record<DType, number>> = {
  float32: 4,
  bfloat16: 4,
  int64: 8,
  bool: 1,
};

/** The elements of a tensor of any dtype, row-major. */
export type TensorData = ArrayOf[DType];

/** One element: a number, or a bigint for an int64 that a number does not hold exactly. */
export type Scalar = number | bigint;

/**
 * A zeroed array for `length` elements.
 *
 * @throws ArgumentError if they do not fit into memory
 */
export function newArray(dtype: DType, length: number): TensorData {
  try {
    return allocate(dtype, length);
  } catch (cause) {
    throw new ArgumentError(`Expected a tensor that fits into memory, got ${length} elements of ${dtype}.`, {
      cause,
    });
  }
}

function allocate(dtype: DType, length: number): TensorData {
  switch (dtype) {
    case 'float32':
    case 'bfloat16':
      return new Float32Array(length);
    case 'int64':
      return new BigInt64Array(length);
    case 'bool':
      return new Uint8Array(length);
  }
}

/** An array of these elements, which the dtype must be able to hold. */
export function arrayFrom(dtype: DType, elements: readonly Scalar[]): TensorData {
  switch (dtype) {
    case 'float32':
      return Float32Array.from(elements, Number);
    case 'bfloat16':
      return BFloat16Bits.fromFloat32(Float32Array.from(elements, Number)).toFloat32();
    case 'int64':
      return BigInt64Array.from(elements, BigInt);
    case 'bool':
      return Uint8Array.from(elements, Number);
  }
}
