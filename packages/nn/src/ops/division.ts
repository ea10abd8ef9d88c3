import type { Scalar } from '../dtype.ts';
import { checkElements } from '../graph/element-checks.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { createValue, isNode, type Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { broadcastShape, sumToShape } from './broadcast.ts';
import { noGradient, type OperatorFamily } from './definition.ts';
import { add, and, cast, detach, div, equal, greater, mul, neg, not, or, sub, where } from './elementwise.ts';
import { floor } from './functions.ts';
import { constant, int64Constant } from './source.ts';

// Division with a remainder, of int64 or float32 values; elementwise, shapes broadcast. An int64 divisor that is known when the graph
// is built must not be 0, as in torch. If a computed divisor is 0, quotient and remainder are 0, as in numpy.

/** a − b·⌊a/b⌋, with the sign of the divisor (torch.remainder, Python's %). */
export function remainder(a: Value, b: Value): Value {
  requireNumbers('remainder', a, b);
  if (a.dtype === 'int64') {
    const { rest, otherSign } = divideIntegers('remainder', a, b);
    return where(otherSign, add(rest, b), rest);
  }
  // ONNX takes the divisor's sign for integers only.
  const rest = fmod(a, b);
  return where(hasOtherSign(rest, b, constant(0)), add(rest, b), rest);
}

/** a − b·trunc(a/b), with the sign of the dividend (torch.fmod, C's fmod). */
export function fmod(a: Value, b: Value): Value {
  requireNumbers('fmod', a, b);
  if (a.dtype === 'int64') return divideIntegers('fmod', a, b).rest;
  return createValue('Mod', [a, b], {}, { dtype: a.dtype, shape: broadcastShape('fmod', a, b) });
}

/** ⌊a/b⌋ (torch.floor_divide). */
export function floorDivide(a: Value, b: Value): Value {
  requireNumbers('floorDivide', a, b);
  if (a.dtype !== 'int64') return floorDivideFloats(a, b);
  const { quotient, otherSign } = divideIntegers('floorDivide', a, b);
  return sub(quotient, cast(otherSign, 'int64'));
}

/**
 * As in torch and Python, from the remainder, because the rounded quotient may be the integer above: 1 / 0.1 is 10, but 0.1 in
 * float32 is above a tenth.
 */
function floorDivideFloats(a: Value, b: Value): Value {
  const [zero, one] = [constant(0), constant(1)];
  const rest = fmod(a, b);
  const nearly = div(sub(a, rest), b);
  const quotient = where(hasOtherSign(rest, b, zero), sub(nearly, one), nearly);
  const lower = floor(quotient);
  const rounded = where(greater(sub(quotient, lower), constant(0.5)), add(lower, one), lower);
  return detach(where(equal(b, zero), div(a, b), rounded));
}

/** trunc(a/b) (torch.div with rounding_mode='trunc', ONNX's Div of integers). */
export function truncatedDivide(a: Value, b: Value): Value {
  requireNumbers('div', a, b);
  return a.dtype === 'int64' ? divideIntegers('div', a, b).quotient : truncate(div(a, b));
}

/** x rounded towards 0 (torch.trunc). */
export function truncate(x: Value): Value {
  if (x.dtype === 'int64') return x;
  return where(greater(constant(0), x), neg(floor(neg(x))), floor(x));
}

interface IntegerDivision {
  /** Truncated towards 0. */
  readonly quotient: Value;
  /** a − b·quotient, with the sign of a. */
  readonly rest: Value;
  /** True where the remainder is not 0 and differs in sign from b, so that the quotient is one above its floor. */
  readonly otherSign: Value;
}

/**
 * The processor raises SIGFPE for a divisor of 0, and for −1 if the dividend is −2^63. For those, divides by 1 and multiplies
 * the quotient. onnxruntime's Mod raises it too, and computes in float64 when it takes the sign of the dividend.
 */
function divideIntegers(op: string, a: Value, b: Value): IntegerDivision {
  requireKnownNonzero(op, b);
  const [zero, one, minusOne] = [0, 1, -1].map((integer) => int64Constant([], [integer]));
  const isSpecial = or(equal(b, zero), equal(b, minusOne));
  const divisor = where(isSpecial, one, b);
  const type = { dtype: 'int64', shape: broadcastShape(op, a, b) } as const;
  const whole = createValue('IntegerDiv', [a, divisor], {}, type);
  const rest = sub(a, mul(whole, divisor));
  return {
    quotient: mul(whole, where(isSpecial, b, one)),
    rest,
    otherSign: hasOtherSign(rest, b, zero),
  };
}

/** True where a remainder is not 0 and differs in sign from the divisor. */
function hasOtherSign(rest: Value, divisor: Value, zero: Value): Value {
  return and(not(equal(rest, zero)), not(equal(greater(zero, rest), greater(zero, divisor))));
}

function requireKnownNonzero(op: string, divisor: Value): void {
  const check = (elements: Iterable<Scalar>) => {
    for (const element of elements) {
      if (Number(element) !== 0) continue;
      throw new ArgumentError(`${op}: an int64 divisor must not be 0. Divide in float32: x.float().`);
    }
  };
  const { node } = divisor;
  if (isNode(node, 'Number')) check([node.attributes.value]);
  checkElements(divisor, (elements) => {
    check(elements);
  });
}

function requireNumbers(op: string, a: Value, b: Value): void {
  if (a.dtype === b.dtype && a.dtype !== 'bool') return;
  throw new ShapeError(`${op}: expected float32 or int64, got ${describeType(a)} and ${describeType(b)}.`);
}

export const division: OperatorFamily<'Mod' | 'IntegerDiv'> = {
  Mod: {
    emit: (graph, _, inputs, outputs) => {
      graph.node('Mod', inputs, outputs, { fmod: 1 });
    },
    gradient: ({ inputs: [a, b] }, [d]) => {
      if (!d) return [];
      const quotient = truncate(div(a, b));
      return [sumToShape(d, a.shape), sumToShape(neg(mul(d, quotient)), b.shape)];
    },
  },
  IntegerDiv: {
    emit: (graph, _, inputs, outputs) => {
      graph.node('Div', inputs, outputs);
    },
    gradient: noGradient,
  },
};
