import type { Scalar } from './dtype.ts';
import { ArgumentError } from './errors.ts';

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
  // + 0 makes 0 of -0, which int64 does not have.
  return Number.isSafeInteger(number) ? number + 0 : BigInt(value);
}
