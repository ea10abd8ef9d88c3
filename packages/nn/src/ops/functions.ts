import { ShapeError } from '../errors.ts';
import { createValue, describeType, type Node, type Value } from '../graph/node.ts';
import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { emitPlain, noGradient, type OperatorFamily } from './definition.ts';
import { div, exp, greater, mul, neg, sqrt, sub, where } from './elementwise.ts';
import { constant } from './source.ts';

// Elementwise functions of one operand. elementwise.ts has those that other operators' gradients use.

type Plain = 'Abs' | 'Sign' | 'Floor' | 'Ceil' | 'Round' | 'Tanh' | 'Erf' | 'Sigmoid' | 'Softplus';

export const abs = (x: Value): Value => plain('Abs', 'abs', x);
export const sign = (x: Value): Value => plain('Sign', 'sign', x);
export const floor = (x: Value): Value => plain('Floor', 'floor', x);
export const ceil = (x: Value): Value => plain('Ceil', 'ceil', x);
export const round = (x: Value): Value => plain('Round', 'round', x);
export const erf = (x: Value): Value => plain('Erf', 'erf', x);
export const tanh = (x: Value): Value => plain('Tanh', 'tanh', x);
export const sigmoid = (x: Value): Value => plain('Sigmoid', 'sigmoid', x);
export const softplus = (x: Value): Value => plain('Softplus', 'softplus', x);

/** x to a power. Products, a quotient and a root are faster than Pow and replace it where they are equal. */
export function pow(x: Value, exponent: number): Value {
  requireFloat('pow', x);
  if (exponent === 1) return x;
  if (exponent === 2) return mul(x, x);
  if (exponent === 3) return mul(mul(x, x), x);
  if (exponent === 0.5) return sqrt(x);
  if (exponent === -1) return div(constant(1), x);
  return createValue('Pow', [x], { exponent }, x);
}

/** x where it is positive, alpha·x elsewhere. */
export function leakyRelu(x: Value, alpha: number): Value {
  requireFloat('leakyRelu', x);
  return createValue('LeakyRelu', [x], { alpha }, x);
}

export const functions: OperatorFamily<Plain | 'Pow' | 'LeakyRelu'> = {
  Pow: {
    emit: (graph, { attributes: { exponent } }, inputs, outputs) => {
      graph.node('Pow', [...inputs, graph.constant('float32', [], [exponent])], outputs);
    },
    // x⁰ is 1 everywhere; the general formula would compute 0·∞ at 0.
    gradient: ({ inputs: [x], attributes: { exponent } }, [d]) => [
      exponent === 0 ? undefined : d && mul(d, mul(pow(x, exponent - 1), constant(exponent))),
    ],
  },
  Abs: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && mul(d, sign(x))] },
  Sign: { emit: emitPlain, gradient: noGradient },
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

/** @param name of the function in messages */
function plain(op: Plain, name: string, x: Value): Value {
  requireFloat(name, x);
  return createValue(op, [x], {}, x);
}

function requireFloat(name: string, x: Value): void {
  if (x.dtype !== 'float32') throw new ShapeError(`${name}: expected float32, got ${describeType(x)}.`);
}
