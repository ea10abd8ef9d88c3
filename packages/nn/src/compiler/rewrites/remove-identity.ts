import { isNode, type Node, type Value } from '../../graph/node.ts';

/** Identity and Checkpoint concern gradients. Without a backward pass, they would only prevent rewrites of adjacent operators. */
export function removeIdentity(node: Node): Value | readonly Value[] | undefined {
  const isIdentity = isNode(node, 'Identity') || isNode(node, 'Checkpoint') || isNode(node, 'GivenGradients');
  return isIdentity ? node.inputs[0] : removeCustomGradients(node);
}

/**
 * Variables and functions with their own gradients concern gradients that are part of the graph already: see
 * `engine/explicit-gradients.ts`.
 */
export function removeCustomGradients(node: Node): Value | readonly Value[] | undefined {
  if (isNode(node, 'Variable')) return node.inputs[0];
  return isNode(node, 'CustomFunction') ? node.inputs.slice(0, node.outputs.length) : undefined;
}

/** For a graph that includes its gradients: slopes that no gradient reads are not computed. */
export function removeSlopes(node: Node): Value | undefined {
  return isNode(node, 'AddSlope') ? node.inputs[0] : undefined;
}
