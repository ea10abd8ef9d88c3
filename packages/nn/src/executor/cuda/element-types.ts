import { BFloat16Bits } from '@ringrun/core';
import type { GpuDType } from '@ringrun/native';
import { arrayFrom, bytesPerElement, type DType, type Scalar } from '../../dtype.ts';

/** The type of an element in a kernel's variables: kernels compute with bfloat16 in float32. */
export const registerTypes: Readonly<Record<DType, string>> = {
  float32: 'float',
  bfloat16: 'float',
  int64: 'long long',
  bool: 'unsigned char',
};

/** The type of an element in memory. */
export const memoryTypes: Readonly<Record<DType, string>> = { ...registerTypes, bfloat16: 'bfloat16' };

/** Of an element in memory. */
export function bytesOf(dtype: DType): number {
  return dtype === 'bfloat16' ? 2 : bytesPerElement[dtype];
}

/** Of products and convolutions. */
export function gpuDType({ dtype }: { readonly dtype: DType }): GpuDType {
  return dtype === 'bfloat16' ? dtype : 'float32';
}

/** Elements as they are in memory. */
export function bytesFrom(dtype: DType, elements: readonly Scalar[]): Uint8Array {
  const array = arrayFrom(dtype, elements);
  const { buffer, byteOffset, byteLength } =
    dtype === 'bfloat16' ? BFloat16Bits.fromFloat32(array as Float32Array) : array;
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * The type bfloat16 in CUDA C++. A load widens, and a store rounds to nearest, ties to even, with the bits of the CPU
 * (native/src/reduce/formats16.h), also for NaN. `float` converts to it only where a kernel says so.
 */
export const bfloat16Source = `
struct bfloat16 {
  unsigned short bits;

  bfloat16() = default;
  __device__ __forceinline__ explicit bfloat16(float x) { *this = x; }
  __device__ __forceinline__ operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }
  __device__ __forceinline__ bfloat16& operator=(float x) {
    const unsigned wide = __float_as_uint(x);
    bits = static_cast<unsigned short>((x != x ? wide | 0x400000u : wide + 0x7fffu + (wide >> 16 & 1u)) >> 16);
    return *this;
  }
};
`;
