import { isNode, type Node, type Value } from '../../graph/node.ts';

/** Identity and Checkpoint concern gradients. Without a backward pass, they would only prevent rewrites of adjacent operators. */
export function removeIdentity(node: Node): Value | undefined {
  return isNode(node, 'Identity') || isNode(node, 'Checkpoint') ? node.inputs[0] : undefined;
}

/** For a graph that includes its gradients: slopes that no gradient reads are not computed. */
export function removeSlopes(node: Node): Value | undefined {
  return isNode(node, 'AddSlope') ? node.inputs[0] : undefined;
}
