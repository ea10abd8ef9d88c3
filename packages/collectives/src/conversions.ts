import { loadNative, nativeDType } from '@ringrun/native';

import { dtypeOf, InvalidArgumentError } from '@ringrun/core';
import type { BFloat16Bits, Float16Bits } from '@ringrun/core';

/*
 * Conversions between float32 and the 16-bit formats, with the processor's own instructions if it has them.
 * `Float16Bits.fromFloat32` and its counterparts return the same bits from JavaScript, and take more than 100 times as
 * long.
 */

/**
 * Converts float32 to a 16-bit format: to nearest, ties to even; values beyond the largest become infinity. Both arrays
 * have the same length.
 */
export function narrowFloat32(from: Float32Array, to: Float16Bits | BFloat16Bits): void {
  const dtype = checkedConversion(from, to);
  loadNative().narrowWith(fastestKernels(), dtype, from, to);
}

/** Converts 16-bit numbers to float32, exactly. Both arrays have the same length. */
export function widenToFloat32(from: Float16Bits | BFloat16Bits, to: Float32Array): void {
  const dtype = checkedConversion(to, from);
  loadNative().widenWith(fastestKernels(), dtype, from, to);
}

let fastest: string | undefined;

function fastestKernels(): string {
  fastest ??= loadNative().kernelNames()[0];
  return fastest;
}

/** Returns the addon's number for the dtype of the 16-bit array. */
function checkedConversion(wide: Float32Array, narrow: Float16Bits | BFloat16Bits): number {
  const dtypes = [dtypeOf(wide), dtypeOf(narrow)];
  const [, dtype] = dtypes;
  if (dtypes[0] !== 'float32' || (dtype !== 'float16' && dtype !== 'bfloat16')) {
    throw new InvalidArgumentError(
      'conversion: expected a Float32Array and a Float16Bits or BFloat16Bits, ' +
        `got arrays of ${dtypes.map((one) => one ?? 'no dtype').join(' and ')}`,
    );
  }
  if (wide.length !== narrow.length) {
    throw new InvalidArgumentError(
      `conversion: expected arrays of the same length, got ${wide.length} float32 and ${narrow.length} ${dtype} elements`,
    );
  }
  return nativeDType[dtype];
}
