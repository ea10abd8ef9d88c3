import { BFloat16Bits } from '@ringrun/core';
import type { DType, Scalar } from './dtype.ts';
import { ArgumentError } from './errors/errors.ts';

// JavaScript numbers and bigints as elements of tensors.

/** True for an integer from -2^63 to 2^63 - 1. */
export function isInt64(value: Scalar): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value;
  return Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;
}

/**
 * An int64 as a scalar: a number if that is exact, so that equal integers are the same scalar.
 *
 * @throws ArgumentError unless it is an integer from -2^63 to 2^63 - 1
 */
export function asInt64(value: Scalar): Scalar {
  if (!isInt64(value)) {
    throw new ArgumentError(`int64: expected an integer from -2^63 to 2^63 - 1, got ${value}.`);
  }
  const number = Number(value);
  // + 0 turns -0, which int64 does not have, into 0.
  return Number.isSafeInteger(number) ? number + 0 : BigInt(value);
}

/** A number that rounds to float32 like the scalar itself: a bigint must not be rounded to float64 first. */
export function asFloat(value: Scalar): number {
  if (typeof value === 'number') return value;
  // The last 11 of 64 bits, which float64 lacks, only matter for whether the integer lies between two multiples of 2^11. An odd
  // multiple is never halfway between two float32.
  const multiple = (value >> 11n) << 11n;
  return Number(multiple === value || Number.isSafeInteger(Number(value)) ? value : multiple | (1n << 11n));
}

/**
 * Converts a number to an element of this dtype, like torch's fill: truncated for int64; for bool, all numbers but 0 are
 * true.
 *
 * @throws ArgumentError for int64, if the number is NaN or outside of -2^63 to 2^63 - 1
 */
export function asElement(value: Scalar, dtype: DType): Scalar {
  switch (dtype) {
    case 'float32':
      return asFloat(value);
    case 'bfloat16':
      return BFloat16Bits.fromFloat32([Math.fround(asFloat(value))]).toFloat32()[0];
    case 'int64':
      return asInt64(typeof value === 'bigint' ? value : Math.trunc(value));
    case 'bool':
      return Number(Number(value) !== 0);
  }
}
