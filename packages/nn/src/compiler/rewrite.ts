import { createNode, type Node, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';

/**
 * Returns the replacements of a node's outputs, or undefined if the rule does not apply.
 *
 * @param original the node before its inputs were replaced
 */
export type Rewrite = (node: Node, original: Node) => Value | readonly Value[] | undefined;

/** Rebuilds a graph from its leaves upwards. The first rule that applies to a node replaces it. */
export function rewrite(outputs: readonly Value[], rules: readonly Rewrite[]): Value[] {
  const replaced = new Map<Value, Value>();
  const current = (value: Value): Value => replaced.get(value) ?? value;
  for (const node of topologicalOrder(outputs)) {
    const inputs = node.inputs.map(current);
    const changed = inputs.some((input, position) => input !== node.inputs[position]);
    const rebuilt = changed
      ? createNode(node.op, inputs, node.attributes, node.outputs).outputs
      : node.outputs;
    const outputs = [...rebuilt];
    for (const [index, value] of firstThatApplies(rules, rebuilt[0].node, node).entries())
      outputs[index] = value;
    for (const [index, output] of outputs.entries()) replaced.set(node.outputs[index], output);
  }
  return outputs.map(current);
}

function firstThatApplies(rules: readonly Rewrite[], node: Node, original: Node): readonly Value[] {
  for (const rule of rules) {
    const replacement = rule(node, original);
    if (replacement !== undefined) return [replacement].flat();
  }
  return [];
}
