import { isNode, type Node, type Value } from '../../graph/node.ts';

/** Where no gradient is computed there is nothing to cut off: Identity would only stand between operators that are rewritten together. */
export function detachedAlready(node: Node): Value | undefined {
  return isNode(node, 'Identity') ? node.inputs[0] : undefined;
}
