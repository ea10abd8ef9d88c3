import { promotedFloat } from './promotion.ts';
import { isFloat } from '../dtype.ts';
import { createValue, type Node, type Value } from '../graph/node.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../onnx-format/type-codes.ts';
import { emitPlain, noGradient, type OperatorFamily } from './definition.ts';
import { broadcastShape, sumToShape } from './broadcast.ts';
import {
  and,
  div,
  equal,
  exp,
  greater,
  greaterOrEqual,
  log,
  max,
  min,
  mul,
  neg,
  requireFloat,
  sqrt,
  sub,
  where,
  asFloat,
} from './elementwise.ts';
import { constant } from './source.ts';

// Elementwise functions of one operand. elementwise.ts has those that other operators' gradients use.

type Plain = 'Abs' | 'Sign' | 'Floor' | 'Ceil' | 'Round' | 'Tanh' | 'Erf' | 'Sigmoid' | 'Softplus';

export const abs = (x: Value): Value => ofNumbers('Abs', 'abs', x);
/** −1, 0 or 1; 0 for NaN. */
export function sign(x: Value): Value {
  return x.dtype === 'bool' ? x : ofNumbers('Sign', 'sign', x);
}
export const floor = (x: Value): Value => rounding('Floor', 'floor', x);
export const ceil = (x: Value): Value => rounding('Ceil', 'ceil', x);
export const round = (x: Value): Value => rounding('Round', 'round', x);
export const erf = (x: Value): Value => plain('Erf', x);
export const tanh = (x: Value): Value => plain('Tanh', x);
export const sigmoid = (x: Value): Value => plain('Sigmoid', x);
export const softplus = (x: Value): Value => plain('Softplus', x);

/** The elementwise maximum, like `min`: equal operands receive half of the gradient each. */
export const maximum = (a: Value, b: Value): Value => (isFloat(a) ? neg(min(neg(a), neg(b))) : max(a, b));

/** x to a power. Products, a quotient and a root are faster than Pow and replace it where they are equal. */
export function pow(x: Value, exponent: number): Value {
  requireFloat('pow', x);
  if (exponent === 1) return x;
  if (exponent === 2) return mul(x, x);
  if (exponent === 3) return mul(mul(x, x), x);
  if (exponent === 0.5) return sqrt(x);
  if (exponent === -0.5) return div(constant(1), sqrt(x));
  if (exponent === -1) return div(constant(1), x);
  return createValue('Pow', [x], { exponent }, x);
}

/** Each element of x to the power of the corresponding exponent (torch.pow); shapes broadcast. */
export function tensorPower(x: Value, exponent: Value): Value {
  requireFloat('pow', x);
  requireFloat('pow', exponent);
  return createValue(
    'Power',
    [x, exponent],
    {},
    { dtype: promotedFloat(x, exponent), shape: broadcastShape('pow', x, exponent) },
  );
}

/** x where it is positive, alpha·x elsewhere. */
export function leakyRelu(x: Value, alpha: number): Value {
  requireFloat('leakyRelu', x);
  return createValue('LeakyRelu', [x], { alpha }, x);
}

export const functions: OperatorFamily<Plain | 'Pow' | 'Power' | 'LeakyRelu'> = {
  Pow: {
    emit: (graph, { attributes: { exponent } }, inputs, outputs) => {
      graph.node('Pow', [...inputs, graph.constant('float32', [], [exponent])], outputs);
    },
    // x⁰ is 1 everywhere; the general formula would compute 0·∞ at 0.
    gradient: ({ inputs: [x], attributes: { exponent } }, [d]) => [
      exponent === 0 ? undefined : d && mul(d, mul(pow(x, exponent - 1), constant(exponent))),
    ],
  },
  Power: {
    emit: (graph, _, inputs, outputs) => {
      graph.node('Pow', inputs, outputs);
    },
    // x⁰ is 1 everywhere, and 0ʸ is 0 for all y > 0; the general formulas would compute 0·∞ there.
    gradient: ({ inputs: [x, y], outputs: [z] }, [d]) => {
      if (d === undefined) return [];
      const zero = constant(0);
      const slope = where(equal(y, zero), zero, mul(y, tensorPower(x, sub(y, constant(1)))));
      const isFlat = and(equal(x, zero), greaterOrEqual(y, zero));
      const growth = where(isFlat, zero, mul(z, log(x)));
      return [sumToShape(mul(d, slope), x.shape), sumToShape(mul(d, growth), y.shape)];
    },
  },
  // 0 at 0 and at NaN for a finite gradient.
  Abs: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && mul(d, sign(x))] },
  Sign: { emit: emitSign, gradient: noGradient },
  Floor: { emit: emitPlain, gradient: noGradient },
  Ceil: { emit: emitPlain, gradient: noGradient },
  Round: { emit: emitPlain, gradient: noGradient },
  Erf: {
    emit: emitPlain,
    gradient: ({ inputs: [x] }, [d]) => [
      d && mul(d, mul(exp(neg(mul(x, x))), constant(2 / Math.sqrt(Math.PI)))),
    ],
  },
  Tanh: {
    emit: emitPlain,
    gradient: ({ outputs: [y] }, [d]) => [d && mul(d, sub(constant(1), mul(y, y)))],
  },
  Sigmoid: {
    emit: emitSigmoid,
    gradient: ({ outputs: [y] }, [d]) => [d && mul(d, mul(y, sub(constant(1), y)))],
  },
  Softplus: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && mul(d, sigmoid(x))] },
  LeakyRelu: {
    emit: (graph, { attributes: { alpha } }, inputs, outputs) => {
      graph.node('LeakyRelu', inputs, outputs, { alpha: { float: alpha } });
    },
    gradient: ({ inputs: [x], attributes: { alpha } }, [d]) => [
      d && where(greater(x, constant(0)), d, mul(d, constant(alpha))),
    ],
  },
};

/** 0 for NaN, as in torch. */
function emitSign(
  graph: GraphBuilder,
  { outputs: [{ dtype }] }: Node<'Sign'>,
  [x]: readonly string[],
  [y]: readonly string[],
): void {
  if (dtype !== 'float32') {
    // onnxruntime's Sign of int64 reads 32 bits.
    const zero = graph.constant(dtype, [], [0]);
    const where = (name: string, [larger, smaller]: readonly string[]) => {
      const [isTrue, counted] = [name, `${name}Counted`].map((one) => graph.freshName(one));
      graph.node('Greater', [larger, smaller], [isTrue]);
      graph.node('Cast', [isTrue], [counted], { to: dataTypeCode[dtype] });
      return counted;
    };
    graph.node('Sub', [where('isAbove', [x, zero]), where('isBelow', [zero, x])], [y]);
    return;
  }
  const [sign, isNaN] = ['sign', 'isNaN'].map((name) => graph.freshName(name));
  graph.node('Sign', [x], [sign]);
  graph.node('IsNaN', [x], [isNaN]);
  graph.node('Where', [isNaN, graph.constant('float32', [], [0]), sign], [y]);
}

/** Computes 1 / (1 + exp(−x)) exactly. onnxruntime's Sigmoid is an approximation: 0 below −18, relative error 2e-4 at −10. */
function emitSigmoid(
  graph: GraphBuilder,
  _: Node<'Sigmoid'>,
  [x]: readonly string[],
  [y]: readonly string[],
): void {
  const [negated, power, divisor] = ['negated', 'power', 'divisor'].map((name) => graph.freshName(name));
  const one = graph.constant('float32', [], [1]);
  graph.node('Neg', [x], [negated]);
  graph.node('Exp', [negated], [power]);
  graph.node('Add', [power, one], [divisor]);
  graph.node('Div', [one, divisor], [y]);
}

/** A function of floats, in float32 for integers. */
function plain(op: Plain, of: Value): Value {
  const x = asFloat(of);
  return createValue(op, [x], {}, x);
}

/** A function that also accepts integers. */
function ofNumbers(op: Plain, name: string, x: Value): Value {
  if (x.dtype !== 'int64') requireFloat(name, x);
  return createValue(op, [x], {}, x);
}

/** Integers need no rounding. */
function rounding(op: Plain, name: string, x: Value): Value {
  return x.dtype === 'int64' ? x : ofNumbers(op, name, x);
}
