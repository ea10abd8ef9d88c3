import type { TensorData } from '../dtype.ts';
import { isNode, type Node, type Value } from '../graph/node.ts';
import { sourceOfLeaf } from '../graph/source-of-leaf.ts';
import { substitute } from '../graph/substitute.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { input } from '../ops/source.ts';

/** Elements of values that have been computed: losses of backward passes and results of `item`. */
const cache = new WeakMap<Value, TensorData>();

/** Caches a value with one element. Later changes of its inputs do not affect it. */
export function cacheElements(value: Value, number: TensorData): void {
  // A leaf always reads its array.
  if (!isNode(value.node, 'Input')) cache.set(value, number.slice());
}

/** The elements, if they are known and nothing changes them. */
export function cachedElements(value: Value): TensorData | undefined {
  const source = sourceOfLeaf(value);
  if (source === undefined) return cache.get(value);
  return source.memory !== undefined || source.isCallers ? undefined : source.data;
}

/** 'read': cached elements replace any node. 'differentiate': only nodes whose gradient `detach` or `noGrad` blocks. */
export type Purpose = 'read' | 'differentiate';

/** The part of a graph that must be computed. */
export interface UncachedPart {
  /** Nodes to compute and cached nodes, each after its remaining inputs. */
  readonly nodes: readonly Node[];
  /** True if the cached elements replace the node. */
  readonly isCached: (node: Node) => boolean;
}

/** @param order all nodes of the graph, which is walked once in a training step */
export function uncachedPartOf(value: Value, order: readonly Node[], purpose: Purpose): UncachedPart {
  if (!order.some(hasCachedOutput)) return { nodes: order, isCached: () => false };
  const differentiated =
    purpose === 'read'
      ? new Set<Node>()
      : new Set(topologicalOrder([value], (node) => !isNode(node, 'Identity')));
  const isCached = (node: Node) => hasCachedOutput(node) && !differentiated.has(node);
  return { nodes: topologicalOrder([value], (node) => !isCached(node)), isCached };
}

/** The graph of a value in which cached nodes are leaves. */
export function withCachedLeaves(value: Value, { nodes, isCached }: UncachedPart): Value {
  const leaves = nodes.filter(isCached).map(({ outputs: [output] }) => {
    return [output, input(output.dtype, output.shape, { data: cache.get(output)! })] as const;
  });
  return leaves.length === 0 ? value : substitute([value], new Map(leaves))[0];
}

/** True if the node's only output is cached, so that its inputs are not needed. */
function hasCachedOutput(node: Node): boolean {
  return (node.outputs.length === 1 || hasOutputsForGradients(node)) && cache.has(node.outputs[0]);
}

/** True if only the node's gradient reads the outputs after the first. */
function hasOutputsForGradients(node: Node): boolean {
  return isNode(node, 'NegativeLogLikelihoodLoss') || isNode(node, 'Relu');
}
