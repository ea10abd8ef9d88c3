import { isNode, type Node, type Value } from './node.ts';

/**
 * Every node that the outputs depend on, in topological order. Equal graphs have equal orders.
 *
 * @param followed returns true if the walk continues to a node's inputs. Default: always.
 */
export function topologicalOrder(outputs: readonly Value[], followed?: (node: Node) => boolean): Node[] {
  const order: Node[] = [];
  const seen = new Set<Node>();
  // Explicit stacks, because recursion would overflow the call stack for deep networks.
  const pending: Node[] = [];
  const isExpanded: boolean[] = [];
  for (let i = outputs.length - 1; i >= 0; i -= 1) {
    pending.push(outputs[i].node);
    isExpanded.push(false);
  }
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (isExpanded.pop()!) {
      order.push(node);
      continue;
    }
    if (seen.has(node)) continue;
    seen.add(node);
    const { inputs } = node;
    if (inputs.length === 0 || followed?.(node) === false) {
      order.push(node);
      continue;
    }
    pending.push(node);
    isExpanded.push(true);
    for (let i = inputs.length - 1; i >= 0; i -= 1) {
      const input = inputs[i].node;
      if (seen.has(input)) continue;
      pending.push(input);
      isExpanded.push(false);
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
