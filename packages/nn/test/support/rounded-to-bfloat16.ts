import { BFloat16Bits } from '@ringrun/core';

/** Numbers rounded to bfloat16, ties to even. */
export function roundedToBfloat16(numbers: ArrayLike<number>): Float32Array {
  return BFloat16Bits.fromFloat32(Float32Array.from(numbers)).toFloat32();
}
