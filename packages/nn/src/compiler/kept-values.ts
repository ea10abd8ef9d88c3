import { isNode, type Node, type Value } from '../graph/node.ts';
import { isParameter, topologicalOrder } from '../graph/topology.ts';
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
  const found: ValuePosition[] = [];
  for (let position = order.length - 1; position >= 0 && found.length < maxUnasked.values; position -= 1) {
    const node = order[position];
    const [value] = node.outputs;
    if (node.inputs.length === 0 || written.includes(value) || forward?.has(node) === false) continue;
    const isKept = isScalar(value) || (isModelOutput(node) && sizeOf(value.shape) <= maxUnasked.elements);
    if (isKept) found.push({ node: position, output: 0 });
  }
  return found.reverse();
}

/** Returns a predicate: true for nodes that depend on parameters and data, and after which no node reads a parameter. */
function modelOutputs(order: readonly Node[]): (node: Node) => boolean {
  const known = new Uint8Array(order.length);
  order.forEach((node, position) => {
    node.position = position;
  });
  const of = (node: Node) => (order[node.position] === node ? known[node.position] : 0);
  for (let position = 0; position < order.length; position += 1) {
    const node = order[position];
    let flags = isParameter(node) ? traits.ofParameters : 0;
    if (isNode(node, 'Input') && node.attributes.source.memory === undefined) flags |= traits.ofData;
    for (const input of node.inputs) flags |= of(input.node);
    known[position] = flags;
  }
  for (let position = order.length - 1; position >= 0; position -= 1) {
    const { inputs } = order[position];
    const isBefore = (known[position] & traits.beforeParameters) !== 0;
    if (!isBefore && !inputs.some(({ node }) => isParameter(node))) continue;
    for (const { node } of inputs)
      if (order[node.position] === node) known[node.position] |= traits.beforeParameters;
  }
  const dependent = traits.ofData | traits.ofParameters;
  return (node) =>
    of(node) === dependent && node.inputs.some((input) => (of(input.node) & traits.beforeParameters) !== 0);
}

/** What is known of a node: it depends on data, on parameters, and a later node reads a parameter. */
const traits = { ofData: 1, ofParameters: 2, beforeParameters: 4 };
