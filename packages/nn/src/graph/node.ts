import type { TensorData } from '../dtype.ts';
import type { ValueType } from '../value-type.ts';
import type { OpName, Operators } from './operators.ts';
import { logicalTime } from './logical-clock.ts';
import { requireOperandDtypes } from './operand-dtypes.ts';

/** One output of a node; an edge of the graph. */
export interface Value extends ValueType {
  readonly node: Node;
  /** Index among the node's outputs. */
  readonly index: number;
  /** Elements that were computed, or a function that returns them: `engine/value-cache.ts`. */
  known: TensorData | (() => TensorData) | undefined;
  /** The last change of a leaf's elements: `changes.ts`. */
  lastChange: { readonly by: string; readonly at: number } | undefined;
}

/**
 * One application of an operator. Nodes are immutable: rewrites create new nodes. What happens to a node and its values later is in
 * fields that change. WeakMaps of them would take a tenth of a small training step, most of it in the garbage collector.
 */
export interface Node<Op extends OpName = OpName> {
  readonly op: Op;
  readonly inputs: readonly Value[];
  readonly attributes: Operators[Op];
  readonly outputs: readonly Value[];
  /** Logical time, which orders the node relative to changes of parameters and buffers. */
  readonly createdAt: number;
  /** The last backward pass that computed the node: `engine/values-of-steps.ts`. */
  step: object | undefined;
  /** The assignment that the node's first run makes: `assignment.ts`. */
  assignment: object | undefined;
  /** The last walk that reached the node, and its position in the last structure: `topology.ts`, `structure.ts`. */
  walk: number;
  position: number;
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
  const node: Node<Op> = {
    op,
    inputs,
    attributes,
    outputs,
    createdAt: logicalTime(),
    step: undefined,
    assignment: undefined,
    walk: 0,
    position: 0,
  };
  for (let index = 0; index < types.length; index += 1) {
    const { dtype, shape } = types[index];
    outputs.push({ node, index, dtype, shape, known: undefined, lastChange: undefined });
  }
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
