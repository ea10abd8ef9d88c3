import { isNode, type Node, type Value } from '../../graph/node.ts';

/** Identity and Checkpoint concern gradients. Without a backward pass, they would only prevent rewrites of adjacent operators. */
export function removeIdentity(node: Node): Value | undefined {
  return isNode(node, 'Identity') || isNode(node, 'Checkpoint') ? node.inputs[0] : undefined;
}
