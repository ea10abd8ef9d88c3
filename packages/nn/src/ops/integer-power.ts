import { isFloat, type Scalar } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { isInt64 } from '../scalar.ts';
import { add, and, asFloat, cast, equal, greater, mul, not, or, where } from './elementwise.ts';
import { floorDivide, remainder } from './division.ts';
import { pow, tensorPower } from './functions.ts';
import { expand } from './shape.ts';
import { int64Constant } from './source.ts';

/** x to a power that is part of the program, in the dtype of x or a higher one, as in torch's promotion. */
export function power(x: Value, exponent: Scalar): Value {
  if (isFloat(x) || !isInt64(exponent)) return pow(asFloat(x), Number(exponent));
  if (exponent < 0) {
    throw new ArgumentError(
      `pow: expected an exponent of at least 0 for ${x.dtype}, got ${exponent}. Call float() first for fractions.`,
    );
  }
  return integerPower(cast(x, 'int64'), BigInt(exponent));
}

/** Repeated squaring, with factors selected by the exponent's bits: onnxruntime's Pow of int64 computes in float64. */
function integerPower(x: Value, exponent: bigint): Value {
  if (exponent === 0n) return expand(int64Constant([], [1]), x.shape);
  const half = exponent / 2n;
  const rest = half === 0n ? undefined : integerPower(mul(x, x), half);
  if (exponent % 2n === 0n) return rest!;
  return rest === undefined ? x : mul(rest, x);
}

/** Each element to the power of the corresponding one of two values in a common dtype (torch.pow of tensors). */
export function powerOfTensor(x: Value, exponent: Value): Value {
  if (isFloat(x)) return tensorPower(x, exponent);
  return x.dtype === 'bool' ? or(x, not(exponent)) : integerPowerOfTensor(x, exponent);
}

/** Exponents have 6 bits: all powers from 64 on of an integer other than −1, 0 and 1 overflow. */
const exponentBits = 6;

/** Repeated squaring, with factors selected by the bits of each exponent. As in torch, a negative power of 2 or more is 0. */
function integerPowerOfTensor(x: Value, exponent: Value): Value {
  const [minusOne, zero, one, two] = [-1, 0, 1, 2].map((integer) => int64Constant([], [integer]));
  const parity = remainder(exponent, two);
  const limit = int64Constant([], [2 ** exponentBits - 2]);
  const known = where(greater(exponent, limit), add(limit, parity), exponent);
  let rest = where(greater(zero, exponent), parity, known);
  let square = x;
  let result = one;
  for (let bit = 0; bit < exponentBits; bit += 1) {
    result = mul(result, where(equal(remainder(rest, two), one), square, one));
    rest = floorDivide(rest, two);
    square = mul(square, square);
  }
  const isUnit = or(equal(x, one), equal(x, minusOne));
  return where(and(greater(zero, exponent), not(isUnit)), zero, result);
}
