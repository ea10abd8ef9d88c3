import { isNode, type Node, type Value } from './node.ts';

/**
 * Every node that the outputs depend on, in topological order. Equal graphs have equal orders.
 *
 * @param followed returns true if the walk continues to a node's inputs. Default: always.
 */
export function topologicalOrder(
  outputs: readonly Value[],
  followed: (node: Node) => boolean = () => true,
): Node[] {
  const order: Node[] = [];
  const seen = new Set<Node>();
  // An explicit stack, because recursion would overflow the call stack for deep networks.
  const pending = outputs.map(({ node }) => ({ node, expanded: false })).reverse();
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const { node, expanded } = entry;
    if (expanded) {
      order.push(node);
    } else if (!seen.has(node)) {
      seen.add(node);
      pending.push({ node, expanded: true });
      for (const input of followed(node) ? node.inputs.toReversed() : []) {
        if (!seen.has(input.node)) pending.push({ node: input.node, expanded: false });
      }
    }
  }
  return order;
}

/** True if a gradient of the value would reach a parameter. */
export function dependsOnParameter(value: Value): boolean {
  return topologicalOrder([value], (node) => !isNode(node, 'Identity')).some(
    (node) => isNode(node, 'Input') && node.attributes.source.parameter !== undefined,
  );
}
