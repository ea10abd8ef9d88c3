import { createNode, type Node, type Value } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { producersOf, type Group, type Groups } from '../node-groups.ts';

/** The new values of outputs. */
export type Replacements = Map<Value, Value>;

/**
 * Rebuilds a graph from its leaves upwards, one group at a time.
 *
 * @param replace adds the replacements of a group's outputs that are read outside; returns false to keep the group's nodes
 */
export function replaceGroups(
  outputs: readonly Value[],
  groups: Groups,
  replace: (group: Group, replacements: Replacements) => boolean,
): Value[] {
  const replacements: Replacements = new Map();
  const finished = new Set<Node>();
  // An explicit stack, because recursion would overflow the call stack for deep networks.
  const pending = outputs.map(({ node }) => node).reverse();
  for (let node = pending.at(-1); node !== undefined; node = pending.at(-1)) {
    const group = groups.get(node) ?? [node];
    const missing = producersOf(group).filter(
      (producer) => !finished.has(producer) && !group.includes(producer),
    );
    if (!finished.has(node) && missing.length > 0) {
      pending.push(...missing.reverse());
      continue;
    }
    pending.pop();
    if (finished.has(node)) continue;
    if (!groups.has(node) || !replace(group, replacements))
      for (const member of group) copy(member, replacements);
    for (const member of group) finished.add(member);
  }
  return outputs.map((output) => replacements.get(output)!);
}

/** Keeps a node, or copies it if its inputs were replaced. */
function copy(node: Node, replacements: Replacements): void {
  const inputs = node.inputs.map((input) => replacements.get(input)!);
  const made = isSameSequence(inputs, node.inputs)
    ? node
    : createNode(node.op, inputs, node.attributes, node.outputs);
  for (const [index, output] of node.outputs.entries()) replacements.set(output, made.outputs[index]);
}
