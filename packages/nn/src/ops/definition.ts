import type { Node, Value } from '../graph/node.ts';
import type { OpName } from '../graph/operators.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';

/** A gradient, or undefined if none exists. */
export type MaybeValue = Value | undefined;

/** The ONNX form and the gradient of an operator. Its shape rule is in the function that creates its nodes. */
export interface OperatorDefinition<Op extends OpName> {
  /** Emits the node as ONNX. An output that nothing reads and that `omits` lists has an empty name. */
  emit(graph: GraphBuilder, node: Node<Op>, inputs: readonly string[], outputs: readonly string[]): void;

  /**
   * Returns the gradients of the node's inputs from those of its outputs (undefined: nothing depends on that output).
   * Rules need not check which inputs need gradients, because unused values are never emitted.
   */
  gradient(node: Node<Op>, gradients: readonly MaybeValue[]): readonly MaybeValue[];

  /**
   * True if `emit` accepts inputs and outputs of bfloat16, alone or beside float32. Otherwise the node is emitted in float32,
   * and its results are rounded. Default: false.
   */
  readonly takesBfloat16?: boolean;

  /**
   * True if `gradient` accepts values of bfloat16. Otherwise it receives them in float32, and its results are rounded once.
   * Default: false.
   */
  readonly differentiatesBfloat16?: boolean;

  /** Positions of outputs that are computed only if they are read. Default: none. */
  readonly omits?: readonly number[];

  /**
   * For an operator of the addon: the graph of other operators that computes its first outputs, the oracle of its tests.
   * Replaces the operator in exported models and with RINGRUN_PLAIN_OPERATORS=1. Undefined: no replacement exists.
   */
  plain?(node: Node<Op>): readonly Value[];
}

/** Definitions of one family; a missing member is a type error. */
export type OperatorFamily<Op extends OpName> = { readonly [K in Op]: OperatorDefinition<K> };

/** Emission of an operator whose ONNX node has the same name, the same inputs and no attributes. */
export function emitPlain(
  graph: GraphBuilder,
  node: Node,
  inputs: readonly string[],
  outputs: readonly string[],
): void {
  graph.node(node.op, inputs, outputs);
}

/** For operators whose inputs are integers or whose output is piecewise constant. */
export const noGradient = (): readonly MaybeValue[] => [];
