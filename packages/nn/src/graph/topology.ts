import { isFloat } from '../dtype.ts';
import { isNode, type Node, type Value } from './node.ts';

let walks = 0;

/**
 * Every node that the outputs depend on, in topological order. Equal graphs have equal orders.
 *
 * @param followed returns true if the walk continues to a node's inputs; walks no graph itself. Default: always.
 */
export function topologicalOrder(outputs: readonly Value[], followed?: (node: Node) => boolean): Node[] {
  const order: Node[] = [];
  walks += 1;
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
    if (node.walk === walks) continue;
    node.walk = walks;
    const { inputs } = node;
    if (inputs.length === 0 || followed?.(node) === false) {
      order.push(node);
      continue;
    }
    pending.push(node);
    isExpanded.push(true);
    for (let i = inputs.length - 1; i >= 0; i -= 1) {
      const input = inputs[i].node;
      if (input.walk === walks) continue;
      pending.push(input);
      isExpanded.push(false);
    }
  }
  return order;
}

/** All nodes that a value depends on by a path without Identity (detach, noGrad). */
export function nodesBeforeDetach(value: Value): Node[] {
  return topologicalOrder([value], (node) => !isNode(node, 'Identity'));
}

/** True for the leaf of a parameter. */
export function isParameter(node: Node): boolean {
  return isNode(node, 'Input') && node.attributes.source.parameter !== undefined;
}

/** True for the leaves of automatic differentiation: parameters and variables. */
export function isTrainedLeaf({ node }: Value): boolean {
  return isNode(node, 'Variable') || isParameter(node);
}

/** True if a gradient of the value would reach a parameter or a variable. */
export function dependsOnParameter(value: Value): boolean {
  for (const found of differentiableValues([value])) if (isTrainedLeaf(found)) return true;
  return false;
}

/** All values that a gradient of some values would pass through. Only floats have gradients, and `detach` blocks them. */
export function differentiableValues(values: readonly Value[]): Set<Value> {
  const found = new Set(values.filter(isFloat));
  for (const { node } of found) {
    if (isNode(node, 'Identity')) continue;
    for (const input of node.inputs) if (isFloat(input)) found.add(input);
  }
  return found;
}
