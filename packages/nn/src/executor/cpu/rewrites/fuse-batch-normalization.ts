import { createNode, isNode, type Node, type Value } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import { topologicalOrder } from '../../../graph/topology.ts';
import { isSameSequence } from '../../../graph/same-data.ts';
import { batchNormalizeActivate } from '../../../ops/own/batch-normalize-activate.ts';
import { Readers } from '../../../compiler/readers.ts';

/**
 * Replaces batch normalization, the addition of a residual and the following relu by one operator of the addon. Its gradient
 * reads x instead of x − mean, which takes the same memory.
 */
export function fuseBatchNormalization(outputs: readonly Value[]): readonly Value[] {
  const order = topologicalOrder(outputs);
  if (!order.some((node) => isNode(node, 'BatchNormalize'))) return outputs;
  const endings = endingsOf(order, outputs);
  const fused = new Set([...endings.values()].flatMap(({ nodes }) => nodes));
  const replaced = new Map<Value, Value>();
  const current = (value: Value): Value => replaced.get(value) ?? value;
  for (const node of order) {
    if (fused.has(node)) continue;
    const inputs = node.inputs.map(current);
    const ending = endings.get(node);
    if (isNode(node, 'BatchNormalize') && ending !== undefined) {
      const { nodes, residual, activates } = ending;
      const { epsilon } = node.attributes;
      const made = batchNormalizeActivate(inputs, epsilon, residual && current(residual), activates);
      const [result, mean, variance] = made.outputs;
      for (const { outputs } of [node, ...nodes]) replaced.set(outputs[0], result);
      replaced.set(node.outputs[1], mean).set(node.outputs[2], variance);
      continue;
    }
    if (isSameSequence(inputs, node.inputs)) continue;
    const { outputs } = createNode(node.op, inputs, node.attributes, node.outputs);
    for (const [index, output] of outputs.entries()) replaced.set(node.outputs[index], output);
  }
  return outputs.map(current);
}

/** The nodes that are fused into a batch normalization, in order. */
interface Ending {
  readonly nodes: readonly Node[];
  readonly residual: Value | undefined;
  readonly activates: boolean;
}

function endingsOf(order: readonly Node[], outputs: readonly Value[]): Map<Node, Ending> {
  const readers = new Readers(order, outputs);
  const taken = new Set<Node>();
  const endings = new Map<Node, Ending>();
  // If both summands are normalized, the last one adds the other, because the other does not depend on it.
  for (const node of order.toReversed()) {
    if (!isNode(node, 'BatchNormalize') || !isWorthIt(node)) continue;
    const normalized = node.outputs[0];
    const sum = readers.only(normalized);
    const residual = sum && !taken.has(sum) ? residualOf(sum, normalized) : undefined;
    // A summand that is computed earlier does not depend on the statistics, which may be read elsewhere.
    const adds = residual !== undefined && readers.isKnownBefore(residual, node);
    const last = adds ? readers.only(sum!.outputs[0]) : sum;
    const activates = last !== undefined && isNode(last, 'Relu');
    const nodes = [...(adds ? [sum!] : []), ...(activates ? [last] : [])];
    for (const one of nodes) taken.add(one);
    endings.set(node, { nodes, residual: adds ? residual : undefined, activates });
  }
  return endings;
}

/** The operator's vectors are along the inner axes: rows [N, C] and small images stay plain operators. */
function isWorthIt({ inputs: [{ shape }] }: Node): boolean {
  return sizeOf(shape) > 0 && sizeOf(shape.slice(2)) >= minInner;
}

const minInner = 16;

/** The other summand, if both have the shape of the sum. */
function residualOf(sum: Node, normalized: Value): Value | undefined {
  if (!isNode(sum, 'Add')) return undefined;
  const other = sum.inputs[0] === normalized ? sum.inputs[1] : sum.inputs[0];
  if (other === normalized) return undefined;
  const isAlike = isSameSequence(other.shape, normalized.shape) && sum.outputs[0].dtype === normalized.dtype;
  return isAlike ? other : undefined;
}
