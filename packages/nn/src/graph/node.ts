import type { DType } from '../dtype.ts';
import type { OpName, Operators } from './operators.ts';
import { time } from './time.ts';

/** Element type and dimensions of a value in a graph. */
export interface ValueType {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/** One output of a node: what flows along the edges of a graph. */
export interface Value extends ValueType {
  readonly node: Node;
  /** Which of the node's outputs this is. */
  readonly index: number;
}

/** One application of an operator. Nodes are never changed: rewriting a graph makes new ones. */
export interface Node<Op extends OpName = OpName> {
  readonly op: Op;
  readonly inputs: readonly Value[];
  readonly attributes: Operators[Op];
  readonly outputs: readonly Value[];
  /** Orders the node with changes of parameters and buffers. */
  readonly madeAt: number;
}

/** A node with several outputs; the operator's own function has checked the inputs. */
export function createNode<Op extends OpName>(
  op: Op,
  inputs: readonly Value[],
  attributes: Operators[Op],
  types: readonly ValueType[],
): Node<Op> {
  const outputs: Value[] = [];
  const node: Node<Op> = { op, inputs, attributes, outputs, madeAt: time() };
  for (const [index, { dtype, shape }] of types.entries()) outputs.push({ node, index, dtype, shape });
  return node;
}

/** The output of a node that has one. */
export function createValue<Op extends OpName>(
  op: Op,
  inputs: readonly Value[],
  attributes: Operators[Op],
  type: ValueType,
): Value {
  return createNode(op, inputs, attributes, [type]).outputs[0];
}

/** Whether a node applies this operator; narrows its attributes. */
export function isNode<Op extends OpName>(node: Node, op: Op): node is Node & Node<Op> {
  return node.op === op;
}

/** Number of elements of a shape; 1 for a scalar's []. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, dimension) => size * dimension, 1);
}

/** A value's type as people write it: `float32[64,1,28,28]`. */
export function describeType({ dtype, shape }: ValueType): string {
  return `${dtype}[${shape.join()}]`;
}
