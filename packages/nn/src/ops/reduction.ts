import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { createValue, type Node, type Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import type { OpName, Operators } from '../graph/operators.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../onnx-format/type-codes.ts';
import { normalizeAxes } from './axes.ts';
import { type OperatorFamily } from './definition.ts';
import { cast, div, greaterOrEqual, mul, neg, not, sub } from './elementwise.ts';
import { constant, int64Constant } from './source.ts';
import { expand, reshape } from './shape.ts';

type Reduction = 'ReduceSum' | 'ReduceMean' | 'ReduceMax';

/** Sum over axes. Default: all axes. */
export const reduceSum = (value: Value, axes?: readonly number[], keepdims = false): Value =>
  reduce('ReduceSum', 'sum', value, axes, keepdims);

export const reduceMean = (value: Value, axes?: readonly number[], keepdims = false): Value =>
  reduce('ReduceMean', 'mean', value, axes, keepdims);

/** Largest element along some axes. */
export const reduceMax = (value: Value, axes?: readonly number[], keepdims = false): Value =>
  reduce('ReduceMax', 'max', value, axes, keepdims);

/** Smallest element along some axes. */
export const reduceMin = (value: Value, axes?: readonly number[], keepdims = false): Value => {
  const reversed = reversalOf(value);
  return reversed(reduceMax(reversed(value), axes, keepdims));
};

/** A function that reverses the order of elements and is its own inverse. −2^63 has no negative in int64. */
function reversalOf({ dtype }: Value): (value: Value) => Value {
  if (dtype === 'bool') return not;
  return isFloat({ dtype }) ? neg : (value) => sub(int64Constant([], [-1]), value);
}

export const reductions: OperatorFamily<Reduction> = {
  ReduceSum: {
    emit: emitReduceSum,
    gradient: ({ inputs: [x], attributes }, [d]) => [d && spread(d, x, attributes.axes)],
  },
  ReduceMean: {
    emit: emitReduction,
    gradient: ({ inputs: [x], attributes }, [d]) => {
      const count = attributes.axes.reduce((product, axis) => product * x.shape[axis], 1);
      return [d && mul(spread(d, x, attributes.axes), constant(1 / count))];
    },
  },
  ReduceMax: {
    emit: emitReduceMax,
    // Equal maxima share the gradient, as in torch.amax.
    gradient: ({ inputs: [x], outputs: [y], attributes: { axes } }, [d]) => {
      if (d === undefined) return [];
      const largest = cast(greaterOrEqual(x, spread(y, x, axes)), 'float32');
      const shared = div(keepAxes(d, x, axes), reduceSum(largest, axes, true));
      return [mul(largest, shared)];
    },
  },
};

/** @param name the function's name in messages */
function reduce(
  op: Reduction,
  name: string,
  value: Value,
  given: readonly number[] | undefined,
  keepdims: boolean,
): Value {
  if (op === 'ReduceMean' && !isFloat(value)) {
    throw new ShapeError(`${name}: expected float32, got ${describeType(value)}. Call float() first.`);
  }
  if (value.dtype === 'bool') {
    const reduced = reduce(op, name, cast(value, 'int64'), given, keepdims);
    return op === 'ReduceSum' ? reduced : cast(reduced, 'bool');
  }
  const axes = given === undefined ? [...value.shape.keys()] : normalizeAxes(name, given, value);
  // Empty sums are 0, empty means are NaN.
  if (op === 'ReduceMax' && axes.some((axis) => value.shape[axis] === 0)) {
    throw new ShapeError(`${name}: expected at least one element to reduce, got ${describeType(value)}.`);
  }
  const shape = keepdims
    ? value.shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
    : value.shape.filter((_, axis) => !axes.includes(axis));
  return createValue(op, [value], { axes, keepdims }, { dtype: value.dtype, shape });
}

/** Repeats a reduced gradient along the axes that were reduced. */
function spread(gradient: Value, like: Value, axes: readonly number[]): Value {
  return expand(keepAxes(gradient, like, axes), like.shape);
}

/** A reduced value with its reduced axes restored as size 1. */
function keepAxes(reduced: Value, like: Value, axes: readonly number[]): Value {
  return reshape(
    reduced,
    like.shape.map((size, axis) => (axes.includes(axis) ? 1 : size)),
  );
}

/** onnxruntime's ReduceSum of int64 adds in float64; its CumSum is exact. */
function emitReduceSum(
  graph: GraphBuilder,
  node: Node<'ReduceSum'>,
  [x]: readonly string[],
  [y]: readonly string[],
): void {
  const { axes, keepdims } = node.attributes;
  const { dtype, shape } = node.inputs[0];
  if (dtype !== 'int64' || sizeOf(shape) === 0) {
    emitReduction(graph, node, [x], [y]);
    return;
  }
  const int64 = (...values: number[]) => graph.constant('int64', [values.length], values);
  const sums = axes.reduce((part, axis) => {
    const [upTo, last] = ['upTo', 'last'].map((name) => graph.freshName(name));
    graph.node('CumSum', [part, graph.constant('int64', [], [axis])], [upTo]);
    graph.node('Slice', [upTo, int64(-1), int64(Number.MAX_SAFE_INTEGER), int64(axis)], [last]);
    return last;
  }, x);
  if (keepdims) graph.node('Identity', [sums], [y]);
  else graph.node('Squeeze', [sums, int64(...axes)], [y]);
}

/** Propagates NaN. onnxruntime's ReduceMax ignores NaN except as the first element. */
function emitReduceMax(
  graph: GraphBuilder,
  node: Node<'ReduceMax'>,
  [x]: readonly string[],
  [y]: readonly string[],
): void {
  if (node.outputs[0].dtype === 'int64') {
    emitReduction(graph, node, [x], [y]);
    return;
  }
  const [largest, isNaN, ones, count, any] = ['largest', 'isNaN', 'ones', 'count', 'any'].map((name) =>
    graph.freshName(name),
  );
  emitReduction(graph, node, [x], [largest]);
  graph.node('IsNaN', [x], [isNaN]);
  graph.node('Cast', [isNaN], [ones], { to: dataTypeCode.float32 });
  emitReduction(graph, node, [ones], [count]);
  graph.node('Cast', [count], [any], { to: dataTypeCode.bool });
  graph.node('Where', [any, graph.constant('float32', [], [NaN]), largest], [y]);
}

function emitReduction<Op extends OpName & Reduction>(
  graph: GraphBuilder,
  { op, attributes }: Node<Op>,
  inputs: readonly string[],
  outputs: readonly string[],
): void {
  const { axes, keepdims }: Operators[Reduction] = attributes;
  const axesInput = graph.constant('int64', [axes.length], axes);
  // An empty list of axes reduces nothing. ONNX's default would be to reduce all axes.
  graph.node(op, [...inputs, axesInput], outputs, { keepdims: Number(keepdims), noop_with_empty_axes: 1 });
}
