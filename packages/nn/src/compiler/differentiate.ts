import { isNode, type Node, type Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { isFloat } from '../dtype.ts';
import type { MaybeValue } from '../ops/definition.ts';
import { cast, widened } from '../ops/elementwise.ts';
import { definitionOf } from '../ops/index.ts';
import { sumOfGradients } from '../ops/own/sparse-rows.ts';
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
  const order = topologicalOrder([loss]);
  const trainable = trainableDependents(order);
  const recomputation = new Recomputation();
  const gradients = new Map<Value, Value>([[loss, cast(expand(constant(1), loss.shape), loss.dtype)]]);
  for (const node of order.toReversed()) {
    const delivered = node.outputs.map((output) => gradients.get(output));
    const isTrained = node.inputs.some((input) => trainable.has(input));
    if (!isTrained || delivered.every((gradient) => gradient === undefined)) continue;
    recomputation.begin(node, delivered[0]);
    const parts = gradientOf(recomputation.of(node), delivered);
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
  return new Map(
    [...gradients].filter(
      ([{ node }]) => isNode(node, 'Input') && node.attributes.source.parameter !== undefined,
    ),
  );
}

/** The gradients of a node's inputs. Those of bfloat16 are computed in float32 from end to end, unless the rule takes them. */
function gradientOf(node: Node, delivered: readonly MaybeValue[]): readonly MaybeValue[] {
  const definition = definitionOf(node);
  if (definition.differentiatesBfloat16 === true) return definition.gradient(node, delivered);
  const view = { ...node, inputs: node.inputs.map(widened), outputs: node.outputs.map(widened) };
  return definition.gradient(
    view,
    delivered.map((gradient) => gradient && widened(gradient)),
  );
}

function trainableDependents(order: ReturnType<typeof topologicalOrder>): Set<Value> {
  const dependent = new Set<Value>();
  for (const node of order) {
    const depends = isNode(node, 'Input')
      ? node.attributes.source.parameter !== undefined
      : node.inputs.some((input) => dependent.has(input));
    if (depends) for (const output of node.outputs) dependent.add(output);
  }
  return dependent;
}

/** True if a value can be a loss: one floating-point number. */
export function isScalar(value: Value): boolean {
  return isFloat(value) && sizeOf(value.shape) === 1;
}
