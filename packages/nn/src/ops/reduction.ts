import { ShapeError } from '../errors.ts';
import { createValue, describeType, sizeOf, type Node, type Value } from '../graph/node.ts';
import type { OpName, Operators } from '../graph/operators.ts';
import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { normalizeAxes } from './axes.ts';
import { type OperatorFamily } from './definition.ts';
import { mul } from './elementwise.ts';
import { constant } from './source.ts';
import { expand, reshape } from './shape.ts';

type Reduction = 'ReduceSum' | 'ReduceMean';

/** Sum over some axes; all of them when none are named. */
export const reduceSum = (value: Value, axes?: readonly number[], keepdims = false): Value =>
  reduce('ReduceSum', value, axes, keepdims);

export const reduceMean = (value: Value, axes?: readonly number[], keepdims = false): Value =>
  reduce('ReduceMean', value, axes, keepdims);

export const reductions: OperatorFamily<Reduction> = {
  ReduceSum: {
    emit: emitReduction,
    gradient: ({ inputs: [x], attributes }, [d]) => [d && spread(d, x, attributes.axes)],
  },
  ReduceMean: {
    emit: emitReduction,
    gradient: ({ inputs: [x], attributes }, [d]) => {
      const count = attributes.axes.reduce((product, axis) => product * x.shape[axis], 1);
      return [d && mul(spread(d, x, attributes.axes), constant(1 / count))];
    },
  },
};

function reduce(op: Reduction, value: Value, given: readonly number[] | undefined, keepdims: boolean): Value {
  if (value.dtype !== 'float32') throw new ShapeError(`${op}: takes float32, given ${describeType(value)}.`);
  const axes = given === undefined ? [...value.shape.keys()] : normalizeAxes(op, given, value);
  if (given === undefined && sizeOf(value.shape) === 0) {
    throw new ShapeError(`${op}: ${describeType(value)} has no elements.`);
  }
  const shape = keepdims
    ? value.shape.map((size, axis) => (axes.includes(axis) ? 1 : size))
    : value.shape.filter((_, axis) => !axes.includes(axis));
  return createValue(op, [value], { axes, keepdims }, { dtype: value.dtype, shape });
}

/** Repeats a reduced gradient along the axes that were reduced. */
function spread(gradient: Value, like: Value, axes: readonly number[]): Value {
  const kept = like.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  return expand(reshape(gradient, kept), like.shape);
}

function emitReduction<Op extends OpName & Reduction>(
  graph: GraphBuilder,
  { op, attributes }: Node<Op>,
  inputs: readonly string[],
  outputs: readonly string[],
): void {
  const { axes, keepdims }: Operators[Reduction] = attributes;
  const axesInput = graph.constant('int64', [axes.length], axes);
  // Reducing no axis at all means none here, where ONNX would by default reduce every one.
  graph.node(op, [...inputs, axesInput], outputs, { keepdims: Number(keepdims), noop_with_empty_axes: 1 });
}
