import type { Node, Value } from '../graph/node.ts';
import type { OpName } from '../graph/operators.ts';
import { NnError } from '../errors/errors.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';

/** A gradient, or undefined if none exists. */
export type MaybeValue = Value | undefined;

/** The ONNX form and the gradient of an operator. Its shape rule is in the function that creates its nodes. */
export interface OperatorDefinition<Op extends OpName> {
  /** Emits the node as ONNX. An output that nothing reads and that `omits` lists has an empty name. */
  emit(graph: GraphBuilder, node: Node<Op>, inputs: readonly string[], outputs: readonly string[]): void;

  /**
   * Returns the gradients of the node's inputs from those of its outputs (undefined: nothing depends on that output).
   * Rules need not check which inputs need gradients, because unused values are never emitted. 'ofPlain': the gradients of the
   * plain form.
   */
  readonly gradient: GradientRule<Op> | 'ofPlain';

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

  /**
   * True if `gradient` makes an operator that has no derivative. Gradients that have gradients themselves are then those of the
   * plain form. Default: false.
   */
  readonly differentiatesOnce?: boolean;

  /** Positions of outputs that are computed only if they are read. Default: none. */
  readonly omits?: readonly number[];

  /**
   * For an operator of the addon: the graph of other operators that computes its first outputs, the oracle of its tests.
   * Replaces the operator in exported models and with RINGRUN_PLAIN_OPERATORS=1. Undefined: no replacement exists.
   */
  plain?(node: Node<Op>): readonly Value[];

  /**
   * For an operator that computes the gradients of another one: that other one, whose plain form gives the plain form of this
   * one. Default: none.
   */
  adjoint?(node: Node<Op>): Adjoint;
}

/** An operator whose gradients another operator computes. */
export interface Adjoint {
  readonly of: Node;
  /** The gradients of the outputs of `of`. */
  readonly gradients: readonly MaybeValue[];
  /** For each output of the other operator, the position of the input of `of` whose gradient it is. */
  readonly positions: readonly number[];
}

/** Like the type of a method, so that a rule of one operator is among those of all. */
type GradientRule<Op extends OpName> = {
  rule(node: Node<Op>, gradients: readonly MaybeValue[]): readonly MaybeValue[];
}['rule'];

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

/** For operators that exist only in compiled programs, of which no gradient is taken, and for those without a derivative. */
export function refuseGradient({ op }: Node, gradients: readonly MaybeValue[]): readonly MaybeValue[] {
  if (gradients.every((gradient) => gradient === undefined)) return [];
  throw new NnError('ERR_BACKWARD', `autograd: the operator ${op} has no derivative. ${withoutDerivative}`);
}

/** The second half of an error about a missing derivative. */
export const withoutDerivative =
  'Call detach() on its result, or compute it from other operations: see "Second derivatives" in docs/from-pytorch.md.';
