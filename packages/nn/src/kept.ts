import type { TensorData } from './dtype.ts';
import { isNode, type Node, type Value } from './graph/node.ts';
import { substitute } from './graph/substitute.ts';
import { topologicalOrder } from './graph/topology.ts';
import { input } from './ops/source.ts';

/** Losses of backward passes and results of `item`, by what they are the numbers of. */
const numbers = new WeakMap<Value, TensorData>();

/** Keeps a value of one element: from now on it is this number, whatever becomes of the arrays that it was computed from. */
export function keep(value: Value, number: TensorData): void {
  // A leaf is what its array holds.
  if (!isNode(value.node, 'Input')) numbers.set(value, number.slice());
}

export function keptNumber(value: Value): TensorData | undefined {
  return numbers.get(value);
}

/** Where kept numbers stand for nodes: in every graph that is only read; behind `detach` and `noGrad` where a graph is differentiated, which goes through all others. */
export type Purpose = 'read' | 'differentiate';

/** What is left of a graph to compute. */
export interface Remainder {
  /** Those that are computed, and those for which numbers stand, each after its inputs that are left. */
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

/** Graphs need not go on to what a node was computed from if its only output is kept. */
function isKept(node: Node): boolean {
  return (node.outputs.length === 1 || hasOutputsForGradients(node)) && numbers.has(node.outputs[0]);
}

/** Whether the outputs behind the first are read by the node's gradient alone. */
function hasOutputsForGradients(node: Node): boolean {
  return isNode(node, 'NegativeLogLikelihoodLoss') || isNode(node, 'Relu');
}
