import type { ValueType } from '../value-type.ts';
import type { OpName, Operators } from './operators.ts';
import { logicalTime } from './logical-clock.ts';
import { requireOperandDtypes } from './operand-dtypes.ts';

/** One output of a node; an edge of the graph. */
export interface Value extends ValueType {
  readonly node: Node;
  /** Index among the node's outputs. */
  readonly index: number;
}

/** One application of an operator. Nodes are immutable: rewrites create new nodes. */
export interface Node<Op extends OpName = OpName> {
  readonly op: Op;
  readonly inputs: readonly Value[];
  readonly attributes: Operators[Op];
  readonly outputs: readonly Value[];
  /** Logical time, which orders the node relative to changes of parameters and buffers. */
  readonly createdAt: number;
}

/** Creates a node with several outputs. The operator's own function has checked the inputs. */
export function createNode<Op extends OpName>(
  op: Op,
  inputs: readonly Value[],
  attributes: Operators[Op],
  types: readonly ValueType[],
): Node<Op> {
  requireOperandDtypes(op, inputs);
  const outputs: Value[] = [];
  const node: Node<Op> = { op, inputs, attributes, outputs, createdAt: logicalTime() };
  for (const [index, { dtype, shape }] of types.entries()) outputs.push({ node, index, dtype, shape });
  return node;
}

/** Creates a node with one output and returns that output. */
export function createValue<Op extends OpName>(
  op: Op,
  inputs: readonly Value[],
  attributes: Operators[Op],
  type: ValueType,
): Value {
  return createNode(op, inputs, attributes, [type]).outputs[0];
}

/** True if a node applies this operator; narrows its attributes. */
export function isNode<Op extends OpName>(node: Node, op: Op): node is Node & Node<Op> {
  return node.op === op;
}
