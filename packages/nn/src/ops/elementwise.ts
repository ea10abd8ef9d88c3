import { isFloat, type DType } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { createNode, createValue, isNode, type Node, type Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../onnx-format/type-codes.ts';
import { broadcastShape, sumToShape } from './broadcast.ts';
import { emitPlain, noGradient, type MaybeValue, type OperatorFamily } from './definition.ts';
import { commonDtype } from './promotion.ts';
import { constant, int64Constant } from './source.ts';

type Binary = 'Add' | 'Sub' | 'Mul' | 'Div' | 'Max' | 'Min' | 'Greater' | 'GreaterOrEqual' | 'Equal';
type Unary = 'Neg' | 'Exp' | 'Log' | 'Sqrt';

// bool operands are added and compared as 0 and 1, because ONNX lacks these operators for bool.

/** The sum; for bool, the logical or. */
export const add = (a: Value, b: Value): Value => {
  if (areConditions(a, b)) return or(a, b);
  return isConstant(b, 0) ? a : binary('Add', 'add', a, b);
};
export const sub = (a: Value, b: Value): Value => {
  requireNumbers('sub', a);
  return isConstant(b, 0) ? a : binary('Sub', 'sub', a, b);
};
/** The product; for bool, the logical and. */
export const mul = (a: Value, b: Value): Value => {
  if (areConditions(a, b)) return and(a, b);
  if (isConstant(a, 1)) return b;
  return isConstant(b, 1) ? a : binary('Mul', 'mul', a, b);
};
/** The quotient of floats, in float32 for integers. */
export const div = (a: Value, b: Value): Value => binary('Div', 'div', asFloat(a), asFloat(b));
/** The elementwise maximum. The first of equal operands receives the gradient. */
export const max = (a: Value, b: Value): Value => {
  if (areConditions(a, b)) return or(a, b);
  return a.dtype === 'int64' ? where(greater(b, a), b, a) : binary('Max', 'maximum', a, b);
};
/** The elementwise minimum. onnxruntime's Min of int64 compares only 32 bits. */
export const min = (a: Value, b: Value): Value => {
  if (areConditions(a, b)) return and(a, b);
  return a.dtype === 'int64' ? where(greater(a, b), b, a) : binary('Min', 'minimum', a, b);
};
export const greater = (a: Value, b: Value): Value =>
  areConditions(a, b) ? and(a, not(b)) : comparison('Greater', 'gt', a, b);
export const greaterOrEqual = (a: Value, b: Value): Value =>
  areConditions(a, b) ? or(a, not(b)) : comparison('GreaterOrEqual', 'ge', a, b);
export const equal = (a: Value, b: Value): Value => comparison('Equal', 'eq', a, b);
export const neg = (a: Value): Value => {
  requireNumbers('neg', a);
  return createValue('Neg', [a], {}, a);
};
export const exp = (a: Value): Value => unary('Exp', a);
export const log = (a: Value): Value => unary('Log', a);
export const sqrt = (a: Value): Value => unary('Sqrt', a);
/** The value, with its gradient blocked. */
export const detach = (a: Value): Value => createValue('Identity', [a], {}, a);
export function relu(a: Value): Value {
  if (a.dtype === 'int64') return max(a, int64Constant([], [0]));
  requireFloat('relu', a);
  return createNode('Relu', [a], {}, [a, { dtype: 'bool', shape: a.shape }]).outputs[0];
}

/** True where an element is NaN. */
export function isNaN(a: Value): Value {
  if (!isFloat(a)) return not(equal(a, a));
  return createValue('IsNaN', [a], {}, { dtype: 'bool', shape: a.shape });
}

/** Logical or. */
export function or(a: Value, b: Value): Value {
  return createValue('Or', [a, b], {}, { dtype: 'bool', shape: broadcastShape('logicalOr', a, b) });
}

/** Logical and. */
export function and(a: Value, b: Value): Value {
  return createValue('And', [a, b], {}, { dtype: 'bool', shape: broadcastShape('logicalAnd', a, b) });
}

export function not(a: Value): Value {
  return createValue('Not', [a], {}, a);
}

/** `whenTrue` where the condition is true, else `whenFalse`. All three broadcast. */
export function where(condition: Value, whenTrue: Value, whenFalse: Value): Value {
  if (condition.dtype !== 'bool') {
    throw new ShapeError(`where: the condition must be bool, got ${describeType(condition)}.`);
  }
  const dtype = requireCommonDtype('where', whenTrue, whenFalse);
  if (areConditions(whenTrue, whenFalse)) {
    return or(and(condition, whenTrue), and(not(condition), whenFalse));
  }
  const shape = broadcastShape('where', whenTrue, whenFalse);
  const type = { dtype, shape };
  const whole = broadcastShape('where', condition, { ...whenTrue, ...type });
  return createValue('Where', [condition, whenTrue, whenFalse], {}, { ...type, shape: whole });
}

export function cast(value: Value, to: DType): Value {
  if (value.dtype === to) return value;
  const { node } = value;
  // Exact, because float32 holds every number of bfloat16.
  if (to === 'bfloat16' && isNode(node, 'Cast') && node.inputs[0].dtype === to) return node.inputs[0];
  return createValue('Cast', [value], { to }, { dtype: to, shape: value.shape });
}

/** A value of bfloat16 in float32, which is exact; any other one as it is. */
export function widened(value: Value): Value {
  return value.dtype === 'bfloat16' ? cast(value, 'float32') : value;
}

/** A float32 value that was rounded to bfloat16, as it was before; another value as it is. */
export function beforeRounding(value: Value): Value {
  const { node } = value;
  const isRounded = isNode(node, 'Cast') && value.dtype === 'bfloat16' && node.inputs[0].dtype === 'float32';
  return isRounded ? node.inputs[0] : value;
}

/** A value of floats as it is, another one in float32. */
export function asFloat(value: Value): Value {
  return isFloat(value) ? value : cast(value, 'float32');
}

export const elementwise: OperatorFamily<
  Binary | Unary | 'Relu' | 'IsNaN' | 'Or' | 'And' | 'Not' | 'Identity' | 'Where' | 'Cast'
> = {
  Identity: { emit: emitPlain, takesBfloat16: true, gradient: noGradient },

  Add: {
    emit: emitPlain,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [a, b] }, [d]) => [fit(d, a), fit(d, b)],
  },
  Sub: { emit: emitPlain, gradient: ({ inputs: [a, b] }, [d]) => [fit(d, a), fit(d && neg(d), b)] },
  Mul: {
    emit: emitPlain,
    gradient: ({ inputs: [a, b] }, [d]) => [fit(d && mul(d, b), a), fit(d && mul(d, a), b)],
  },
  Div: {
    emit: emitPlain,
    // d(a/b) = da/b − (a/b)·db/b
    gradient: ({ inputs: [a, b], outputs: [quotient] }, [d]) => {
      const overB = d && div(d, b);
      return [fit(overB, a), fit(overB && neg(mul(overB, quotient)), b)];
    },
  },
  Max: {
    emit: emitPlain,
    // The first of equal operands receives the whole gradient; a NaN receives it, the second if both are NaN. So a chain of
    // Max over a pooling window in row-major order selects the same element as torch's max_pool2d.
    gradient: ({ inputs: [a, b] }, [d]) => {
      if (d === undefined) return [];
      const second = or(greater(b, a), isNaN(b));
      return [fit(where(second, constant(0), d), a), fit(where(second, d, constant(0)), b)];
    },
  },
  Min: {
    emit: emitPlain,
    // Equal operands receive half each; if one is NaN, both receive the whole gradient, as in torch.minimum.
    gradient: ({ inputs: [a, b] }, [d]) => {
      if (d === undefined) return [];
      const shared = where(equal(a, b), mul(d, constant(0.5)), d);
      const unlessAbove = (own: Value, other: Value) => where(greater(own, other), constant(0), shared);
      return [fit(unlessAbove(a, b), a), fit(unlessAbove(b, a), b)];
    },
  },
  Greater: { emit: emitPlain, gradient: noGradient },
  GreaterOrEqual: { emit: emitPlain, gradient: noGradient },
  Equal: { emit: emitPlain, gradient: noGradient },
  IsNaN: { emit: emitPlain, takesBfloat16: true, gradient: noGradient },
  Or: { emit: emitPlain, gradient: noGradient },
  And: { emit: emitPlain, gradient: noGradient },
  Not: { emit: emitPlain, gradient: noGradient },

  Neg: { emit: emitPlain, gradient: (_, [d]) => [d && neg(d)] },
  Exp: { emit: emitPlain, gradient: ({ outputs: [y] }, [d]) => [d && mul(d, y)] },
  Log: { emit: emitPlain, gradient: ({ inputs: [x] }, [d]) => [d && div(d, x)] },
  Sqrt: { emit: emitPlain, gradient: ({ outputs: [y] }, [d]) => [d && div(d, mul(y, constant(2)))] },
  Relu: {
    emit: emitRelu,
    omits: [0, 1],
    differentiatesBfloat16: true,
    // The gradient is 0 at 0 and passes at NaN, as in torch.
    gradient: ({ outputs: [, flat] }, [d]) => [d && where(flat, constant(0), d)],
  },

  Where: {
    emit: emitPlain,
    gradient: ({ inputs: [condition, a, b] }, [d]) => {
      if (d === undefined) return [];
      return [undefined, fit(where(condition, d, constant(0)), a), fit(where(condition, constant(0), d), b)];
    },
  },
  Cast: {
    emit: (graph, { attributes }, inputs, outputs) => {
      graph.node('Cast', inputs, outputs, { to: dataTypeCode[attributes.to] });
    },
    takesBfloat16: true,
    gradient: ({ inputs: [x], outputs: [y] }, [d]) => [isFloat(x) && isFloat(y) ? d : undefined],
  },
};

/** @param name of the function in messages */
function binary(op: Binary, name: string, a: Value, b: Value): Value {
  const dtype = requireCommonDtype(name, a, b);
  return createValue(op, [a, b], {}, { dtype, shape: broadcastShape(name, a, b) });
}

/** As in torch, a number is rounded to the dtype of the tensor that it is compared with. */
function comparison(op: Binary, name: string, a: Value, b: Value): Value {
  const common = requireCommonDtype(name, a, b);
  const type = { dtype: 'bool', shape: broadcastShape(name, a, b) } as const;
  return createValue(op, common === 'bfloat16' ? [cast(a, common), cast(b, common)] : [a, b], {}, type);
}

/** A function of floats, in float32 for integers. */
function unary(op: Exclude<Unary, 'Neg'>, a: Value): Value {
  const x = asFloat(a);
  return createValue(op, [x], {}, x);
}

function areConditions(a: Value, b: Value): boolean {
  return a.dtype === 'bool' && b.dtype === 'bool';
}

function requireNumbers(name: string, a: Value): void {
  if (a.dtype !== 'bool') return;
  throw new ShapeError(
    `${name}: expected float32 or int64, got ${describeType(a)}. Call logicalNot or logicalXor.`,
  );
}

/** @param name of the function in the message */
export function requireFloat(name: string, a: Value): void {
  if (!isFloat(a)) throw new ShapeError(`${name}: expected float32, got ${describeType(a)}.`);
}

function requireCommonDtype(name: string, a: Value, b: Value): DType {
  const dtype = commonDtype(a, b);
  if (dtype !== undefined) return dtype;
  throw new ShapeError(
    `${name}: both sides must have one dtype, got ${describeType(a)} and ${describeType(b)}.`,
  );
}

/** The gradient of an operand that may have been broadcast. */
function fit(gradient: MaybeValue, operand: Value | undefined): MaybeValue {
  return gradient && sumToShape(gradient, operand!.shape);
}

/** True if a value is this constant scalar, for all sizes. */
function isConstant({ node, shape }: Value, number: number): boolean {
  if (!isNode(node, 'Constant') || isTracingSizes()) return false;
  return shape.length === 0 && node.attributes.values[0] === number;
}

/**
 * The backward pass reads a mask of x ≤ 0 instead of the output, in a quarter of the memory. The output depends on the
 * mask's shape, so that the mask is computed first; otherwise onnxruntime would compute it late and keep x until then.
 */
function emitRelu(
  graph: GraphBuilder,
  _: Node<'Relu'>,
  [x]: readonly string[],
  [y, flat]: readonly string[],
): void {
  if (!flat) {
    graph.node('Relu', [x], [y]);
    return;
  }
  graph.node('LessOrEqual', [x, graph.constant('float32', [], [0])], [flat]);
  if (!y) return;
  const [shape, same] = ['shape', 'same'].map((name) => graph.freshName(name));
  graph.node('Shape', [flat], [shape]);
  graph.node('Reshape', [x, shape], [same]);
  graph.node('Relu', [same], [y]);
}
