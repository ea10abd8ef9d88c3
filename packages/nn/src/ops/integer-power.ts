import { isFloat, type Scalar } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { isInt64 } from '../scalar.ts';
import { cast, mul, asFloat } from './elementwise.ts';
import { pow } from './functions.ts';
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
