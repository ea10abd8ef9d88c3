import type { Node, Value } from './node.ts';

/**
 * Every node that the outputs depend on, each after those it depends on. Equal graphs give equal orders.
 *
 * @param followed whether the walk continues to a node's inputs. Default: always.
 */
export function topologicalOrder(
  outputs: readonly Value[],
  followed: (node: Node) => boolean = () => true,
): Node[] {
  const order: Node[] = [];
  const seen = new Set<Node>();
  // A stack of its own: a deep network would overflow the call stack.
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
