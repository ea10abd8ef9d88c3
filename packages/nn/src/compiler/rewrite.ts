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
    const rebuilt = node.inputs.some((input) => replaced.has(input))
      ? createNode(node.op, node.inputs.map(current), node.attributes, node.outputs)
      : node;
    const replacement = firstThatApplies(rules, rebuilt, node);
    if (rebuilt === node && replacement === undefined) continue;
    for (const [index, output] of node.outputs.entries()) {
      const value = replacement?.[index] ?? rebuilt.outputs[index];
      if (value !== output) replaced.set(output, value);
    }
  }
  return outputs.map(current);
}

function firstThatApplies(
  rules: readonly Rewrite[],
  node: Node,
  original: Node,
): readonly Value[] | undefined {
  for (const rule of rules) {
    const replacement = rule(node, original);
    if (replacement !== undefined) return [replacement].flat();
  }
  return undefined;
}
