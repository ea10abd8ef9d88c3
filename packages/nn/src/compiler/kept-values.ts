import { isNode, type Node, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { sizeOf } from '../value-type.ts';
import { isScalar } from './differentiate.ts';

/** A value of a loss's graph: the position of its node in the order of all nodes, and its index among the node's outputs. */
export interface ValuePosition {
  readonly node: number;
  readonly output: number;
}

/** Values that a program writes unasked, at most, and their elements. */
const maxUnasked = { values: 16, elements: 2 ** 18 };

/**
 * The values that training programs often read after the update, and that cost little to write: the parts of the loss, and the
 * outputs of the model, from which the loss is computed without parameters.
 *
 * @param written the loss, then the values that are written anyway
 * @param order all of their nodes
 */
export function keptUnasked(written: readonly Value[], order: readonly Node[]): ValuePosition[] {
  // Without the gradients that a loss has in its graph.
  const forward = isNode(written[0].node, 'GivenGradients')
    ? new Set(topologicalOrder(written[0].node.inputs.slice(0, 1)))
    : undefined;
  const isModelOutput = modelOutputs(forward ? order.filter((node) => forward.has(node)) : order);
  return [...order.entries()]
    .filter(([, node]) => {
      const [value] = node.outputs;
      if (node.inputs.length === 0 || written.includes(value) || forward?.has(node) === false) return false;
      return isScalar(value) || (isModelOutput(node) && sizeOf(value.shape) <= maxUnasked.elements);
    })
    .map(([node]) => ({ node, output: 0 }))
    .slice(-maxUnasked.values);
}

/** Returns a predicate: true for nodes that depend on parameters and data, and after which no node reads a parameter. */
function modelOutputs(order: readonly Node[]): (node: Node) => boolean {
  const [ofData, ofParameters, beforeParameters] = [new Set<Node>(), new Set<Node>(), new Set<Node>()];
  const isParameter = (node: Node) => isNode(node, 'Input') && node.attributes.source.parameter !== undefined;
  for (const node of order) {
    const isData = isNode(node, 'Input') && node.attributes.source.memory === undefined;
    if (isData || node.inputs.some((input) => ofData.has(input.node))) ofData.add(node);
    if (isParameter(node) || node.inputs.some((input) => ofParameters.has(input.node)))
      ofParameters.add(node);
  }
  for (const node of order.toReversed()) {
    if (!beforeParameters.has(node) && !node.inputs.some((input) => isParameter(input.node))) continue;
    for (const input of node.inputs) beforeParameters.add(input.node);
  }
  return (node) =>
    ofData.has(node) &&
    ofParameters.has(node) &&
    !beforeParameters.has(node) &&
    node.inputs.some((input) => beforeParameters.has(input.node));
}
