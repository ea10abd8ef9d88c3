import { loadNative, nativeDType } from '@ringrun/native';

import type { BFloat16Bits, Float16Bits } from './bits16.ts';
import { dtypeOf } from './dtype.ts';
import { InvalidArgumentError } from './errors.ts';

/*
 * Numbers between float32 and the 16-bit formats, by the processor's instructions for them where it has some. `Float16Bits.fromFloat32` and its
 * like give the same bits, from JavaScript, in a hundred times the time and more.
 */

/** Writes numbers as 16-bit ones, each rounded to nearest, ties to even; beyond the largest lies infinity. Both arrays have one length. */
export function narrowFloat32(from: Float32Array, to: Float16Bits | BFloat16Bits): void {
  const dtype = checkedConversion(from, to);
  loadNative().narrowWith(fastestKernels(), dtype, from, to);
}

/** Writes 16-bit numbers as float32, exactly. Both arrays have one length. */
export function widenToFloat32(from: Float16Bits | BFloat16Bits, to: Float32Array): void {
  const dtype = checkedConversion(to, from);
  loadNative().widenWith(fastestKernels(), dtype, from, to);
}

/** Looked up once: the processor stays. */
let fastest: string | undefined;

function fastestKernels(): string {
  fastest ??= loadNative().kernelNames()[0];
  return fastest;
}

/** The number of the 16-bit array's dtype in the addon. */
function checkedConversion(wide: Float32Array, narrow: Float16Bits | BFloat16Bits): number {
  const dtypes = [dtypeOf(wide), dtypeOf(narrow)];
  const [, dtype] = dtypes;
  if (dtypes[0] !== 'float32' || (dtype !== 'float16' && dtype !== 'bfloat16')) {
    throw new InvalidArgumentError(
      `a conversion was given arrays of ${dtypes.map((one) => one ?? 'no dtype').join(' and ')}, expected a Float32Array and a Float16Bits or BFloat16Bits`,
    );
  }
  if (wide.length !== narrow.length) {
    throw new InvalidArgumentError(
      `a conversion was given ${wide.length} numbers of float32 and ${narrow.length} of ${dtype}, expected as many of both`,
    );
  }
  return nativeDType[dtype];
}
