import { createNode, isNode, type Node, type Value } from '../../graph/node.ts';

/** The last rule to be applied: other rules, and gradients, know MaxPool. */
export function exactMaxPool(node: Node): readonly Value[] | undefined {
  if (!isNode(node, 'MaxPool')) return undefined;
  return createNode('ExactMaxPool', node.inputs, node.attributes, node.outputs).outputs;
}
