import { createNode, createValue, isNode, type Node, type Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import { isParameter, topologicalOrder } from '../graph/topology.ts';
import { isFloat } from '../dtype.ts';
import type { MaybeValue } from '../ops/definition.ts';
import { cast, widened } from '../ops/elementwise.ts';
import { definitionOf } from '../ops/index.ts';
import { sumOfGradients } from '../ops/own/sparse-rows.ts';
import { usesOwnOperators } from '../ops/own/enabled.ts';
import { Recomputation } from './recomputation.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';

/**
 * Reverse-mode differentiation: returns d loss / d leaf for every trainable leaf that the loss depends on.
 *
 * Walks the topological order backwards, so that a node is reached after all nodes that contribute to its gradient.
 * Visits only nodes on a path to a trainable leaf.
 *
 * @param visited called after each node with the gradients that its inputs have so far
 */
export function differentiate(
  loss: Value,
  visited?: (node: Node, gradients: readonly Value[]) => void,
): Map<Value, Value> {
  const gradients = gradientsFrom([[loss, onesLike(loss)]], {
    isWanted: ({ node }) => isParameter(node),
    visited,
  });
  return new Map([...gradients].filter(([{ node }]) => isParameter(node)));
}

/** Ones: the gradient of a value with respect to itself. */
export function onesLike({ dtype, shape }: Value): Value {
  return cast(expand(constant(1), shape), dtype);
}

/** Values and their gradients. */
export type Seeds = readonly (readonly [value: Value, gradient: Value])[];

/** What `gradientsFrom` computes. */
export interface GradientOptions {
  /** True for values whose gradients are computed. */
  readonly isWanted: (value: Value) => boolean;
  /** Returns the gradient that replaces the complete one of a value. Default: none is replaced. */
  readonly complete?: (value: Value, gradient: Value) => Value;
  /** If true, the gradients have gradients themselves. Default: false. */
  readonly createGraph?: boolean;
  readonly visited?: ((node: Node, gradients: readonly Value[]) => void) | undefined;
}

/** The gradients of values, and of others between them and the seeds, from those of the seeds. */
export function gradientsFrom(
  seeds: Seeds,
  { isWanted, complete, createGraph = false, visited }: GradientOptions,
): Map<Value, Value> {
  const order = topologicalOrder(seeds.map(([value]) => value));
  const trainable = trainableDependents(order, isWanted);
  const recomputation = new Recomputation();
  const gradients = new Map<Value, Value>();
  for (const [value, gradient] of seeds) {
    const known = gradients.get(value);
    gradients.set(value, known === undefined ? gradient : sumOfGradients(known, gradient));
  }
  for (const node of order.toReversed()) {
    if (complete) {
      for (const output of node.outputs) {
        const gradient = trainable.has(output) ? gradients.get(output) : undefined;
        if (gradient) gradients.set(output, complete(output, gradient));
      }
    }
    const delivered = node.outputs.map((output) => gradients.get(output));
    const isTrained = node.inputs.some((input) => trainable.has(input));
    if (!isTrained || delivered.every((gradient) => gradient === undefined)) continue;
    recomputation.begin(node, delivered[0]);
    const parts = gradientOf(recomputation.of(node), delivered, createGraph);
    for (const [position, input] of node.inputs.entries()) {
      const part = parts[position];
      if (part === undefined || !trainable.has(input)) continue;
      const fitting = cast(part, input.dtype);
      const known = gradients.get(input);
      gradients.set(input, known === undefined ? fitting : sumOfGradients(known, fitting));
    }
    visited?.(
      node,
      node.inputs.map((input) => gradients.get(input)).filter((gradient) => gradient !== undefined),
    );
  }
  return gradients;
}

/** The gradients of a node's inputs. Those of bfloat16 are computed in float32 from end to end, unless the rule takes them. */
function gradientOf(
  node: Node,
  delivered: readonly MaybeValue[],
  createGraph: boolean,
): readonly MaybeValue[] {
  const definition = definitionOf(node);
  const usesPlain = definition.differentiatesOnce === true && (createGraph || !usesOwnOperators());
  const { gradient } = definition;
  const rule = usesPlain || gradient === 'ofPlain' ? gradientOfPlain : gradient;
  if (definition.differentiatesBfloat16 === true || !hasBfloat16(node)) return rule(node, delivered);
  const view = { ...node, inputs: node.inputs.map(widened), outputs: node.outputs.map(widened) };
  return rule(
    view,
    delivered.map((gradient) => gradient && widened(gradient)),
  );
}

function hasBfloat16({ inputs, outputs }: Node): boolean {
  return inputs.some(isBfloat16) || outputs.some(isBfloat16);
}

function isBfloat16({ dtype }: Value): boolean {
  return dtype === 'bfloat16';
}

/** The values of which a gradient passes to a wanted one. */
function trainableDependents(order: readonly Node[], isWanted: (value: Value) => boolean): Set<Value> {
  const dependent = new Set<Value>();
  for (const node of order) {
    const depends = !isNode(node, 'Identity') && node.inputs.some((input) => dependent.has(input));
    for (const output of node.outputs) {
      if (isWanted(output) || (depends && isFloat(output))) dependent.add(output);
    }
  }
  return dependent;
}

/**
 * The plain form of an operator of the addon. That of an operator which computes gradients follows from the operator whose
 * gradients they are. Undefined: none exists.
 */
export function plainFormOf(node: Node): readonly Value[] | undefined {
  const definition = definitionOf(node);
  const adjoint = definition.adjoint?.(node);
  if (adjoint === undefined) return definition.plain?.(node);
  const { of, gradients, positions } = adjoint;
  // Variables, because one value may be several inputs, each with its own gradient.
  const inputs = of.inputs.map((input) => createValue('Variable', [input], {}, input));
  const outputs = definitionOf(of).plain!(createNode(of.op, inputs, of.attributes, of.outputs));
  const received = gradientsBetween(outputs, gradients, inputs);
  return positions.map((position, index) => {
    const { dtype, shape } = node.outputs[index];
    return cast(received[position] ?? expand(constant(0), shape), dtype);
  });
}

/** The gradient rule of operators that have a plain form. */
function gradientOfPlain(node: Node, delivered: readonly MaybeValue[]): readonly MaybeValue[] {
  const inputs = node.inputs.map((input) => createValue('Variable', [input], {}, input));
  const outputs = plainFormOf(createNode(node.op, inputs, node.attributes, node.outputs))!;
  return gradientsBetween(outputs, delivered, inputs);
}

function gradientsBetween(
  outputs: readonly Value[],
  delivered: readonly MaybeValue[],
  inputs: readonly Value[],
): readonly MaybeValue[] {
  const seeds: Seeds = outputs.flatMap((output, index) => {
    const gradient = delivered[index];
    return gradient ? [[output, cast(gradient, output.dtype)] as const] : [];
  });
  const wanted = new Set(inputs.filter(isFloat));
  const gradients = gradientsFrom(seeds, { isWanted: (value) => wanted.has(value) });
  return inputs.map((input) => (wanted.has(input) ? gradients.get(input) : undefined));
}

/** True if a value can be a loss: one floating-point number. */
export function isScalar(value: Value): boolean {
  return isFloat(value) && sizeOf(value.shape) === 1;
}
