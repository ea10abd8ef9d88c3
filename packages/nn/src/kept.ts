import type { TensorData } from './dtype.ts';
import { isNode, type Node, type Value } from './graph/node.ts';
import { substitute } from './graph/substitute.ts';
import { topologicalOrder } from './graph/topology.ts';
import { input } from './ops/source.ts';

/** Losses of backward passes and results of `item`, by value. */
const numbers = new WeakMap<Value, TensorData>();

/** Keeps the number of a value with one element. Later changes of its inputs do not affect it. */
export function keep(value: Value, number: TensorData): void {
  // A leaf always reads its array.
  if (!isNode(value.node, 'Input')) numbers.set(value, number.slice());
}

export function keptNumber(value: Value): TensorData | undefined {
  return numbers.get(value);
}

/** 'read': kept numbers replace any node. 'differentiate': only nodes behind `detach` or `noGrad`. */
export type Purpose = 'read' | 'differentiate';

/** The part of a graph that must be computed. */
export interface Remainder {
  /** Nodes to compute and nodes replaced by kept numbers, each after its remaining inputs. */
  readonly nodes: readonly Node[];
  readonly stands: (node: Node) => boolean;
}

/** @param order all nodes of the graph, which is walked once in a training step */
export function remainderOf(value: Value, order: readonly Node[], purpose: Purpose): Remainder {
  if (!order.some(isKept)) return { nodes: order, stands: () => false };
  const differentiated =
    purpose === 'read'
      ? new Set<Node>()
      : new Set(topologicalOrder([value], (node) => !isNode(node, 'Identity')));
  const stands = (node: Node) => isKept(node) && !differentiated.has(node);
  return { nodes: topologicalOrder([value], (node) => !stands(node)), stands };
}

/** The graph of a value in which kept numbers are leaves. */
export function withKept(value: Value, { nodes, stands }: Remainder): Value {
  const leaves = nodes.filter(stands).map(({ outputs: [output] }) => {
    return [output, input(output.dtype, output.shape, { data: numbers.get(output)! })] as const;
  });
  return leaves.length === 0 ? value : substitute([value], new Map(leaves))[0];
}

/** True if the node's only output is kept, so that its inputs are not needed. */
function isKept(node: Node): boolean {
  return (node.outputs.length === 1 || hasOutputsForGradients(node)) && numbers.has(node.outputs[0]);
}

/** True if only the node's gradient reads the outputs after the first. */
function hasOutputsForGradients(node: Node): boolean {
  return isNode(node, 'NegativeLogLikelihoodLoss') || isNode(node, 'Relu');
}
