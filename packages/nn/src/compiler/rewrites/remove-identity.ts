import { isNode, type Node, type Value } from '../../graph/node.ts';

/** Identity only blocks gradients. Without a backward pass, it would only prevent rewrites of adjacent operators. */
export function removeIdentity(node: Node): Value | undefined {
  return isNode(node, 'Identity') ? node.inputs[0] : undefined;
}
