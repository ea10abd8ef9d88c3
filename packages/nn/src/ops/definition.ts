import type { Node, Value } from '../graph/node.ts';
import type { OpName } from '../graph/operators.ts';
import type { GraphBuilder } from '../onnx/graph-builder.ts';

/** A gradient, or undefined where none flows. */
export type MaybeValue = Value | undefined;

/** Everything that the compiler knows of an operator. Its shape rule is in the function that creates its nodes. */
export interface OperatorDefinition<Op extends OpName> {
  /** Writes the node in ONNX; an output that nobody reads has an empty name. */
  emit(graph: GraphBuilder, node: Node<Op>, inputs: readonly string[], outputs: readonly string[]): void;

  /**
   * The gradients of the node's inputs, given those of its outputs (undefined: nothing depends on that output).
   * What is built for an input that needs no gradient is never emitted, so rules need not ask.
   */
  gradient(node: Node<Op>, gradients: readonly MaybeValue[]): readonly MaybeValue[];
}

/** Definitions of one family; a missing member does not compile. */
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
