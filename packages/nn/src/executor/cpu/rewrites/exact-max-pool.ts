import { createNode, isNode, type Node, type Value } from '../../../graph/node.ts';

/** Must be applied last: other rules and gradients expect MaxPool. */
export function exactMaxPool(node: Node): readonly Value[] | undefined {
  if (!isNode(node, 'MaxPool')) return undefined;
  return createNode('ExactMaxPool', node.inputs, node.attributes, node.outputs).outputs;
}
