import type { TensorData } from '../dtype.ts';
import { isNode, type Node, type Value } from '../graph/node.ts';
import { sourceOfLeaf } from '../graph/source-of-leaf.ts';
import { substitute } from '../graph/substitute.ts';
import { nodesBeforeDetach, topologicalOrder } from '../graph/topology.ts';
import { input } from '../ops/source.ts';

/**
 * Keeps the elements of a value that was computed: by a backward pass whose program wrote it, or by `item`. Later changes of the value's inputs do not affect it.
 *
 * @param elements this array, or a function that the first read calls, and which returns it
 */
export function cacheElements(value: Value, elements: TensorData | (() => TensorData)): void {
  // A leaf always reads its array.
  if (!isNode(value.node, 'Input')) value.known = elements;
}

/** The elements, if they are known and nothing changes them. */
export function cachedElements(value: Value): TensorData | undefined {
  const source = sourceOfLeaf(value);
  if (source === undefined) return computedElements(value);
  return source.memory !== undefined || source.isCallers ? undefined : source.data;
}

function computedElements(value: Value): TensorData | undefined {
  const { known } = value;
  if (typeof known !== 'function') return known;
  const elements = known();
  value.known = elements;
  return elements;
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

/**
 * @param values to compute; for 'differentiate', the first is the loss
 * @param order all nodes of the graph, which is walked once in a training step
 */
export function uncachedPartOf(
  values: readonly Value[],
  order: readonly Node[],
  purpose: Purpose,
): UncachedPart {
  const replaceable = nodesWithCachedValues(values, order);
  if (replaceable.size > 0 && purpose === 'differentiate') {
    for (const node of nodesBeforeDetach(values[0])) replaceable.delete(node);
  }
  if (replaceable.size === 0) return { nodes: order, isCached: () => false };
  const isCached = (node: Node) => replaceable.has(node);
  return { nodes: topologicalOrder(values, (node) => !isCached(node)), isCached };
}

/** The nodes that a gradient of the value passes through. */
export function differentiatedNodes(value: Value): Set<Node> {
  return new Set(nodesBeforeDetach(value));
}

/** The nodes whose inputs are not needed, because each of their values that the graph reads is cached. */
function nodesWithCachedValues(values: readonly Value[], order: readonly Node[]): Set<Node> {
  const found = new Set<Node>();
  for (const node of order) if (hasCachedOutput(node)) found.add(node);
  if (found.size === 0) return found;
  const excludeUnknown = (read: Value) => {
    if (read.known === undefined) found.delete(read.node);
  };
  values.forEach(excludeUnknown);
  for (const { inputs } of order) inputs.forEach(excludeUnknown);
  return found;
}

/** The graph of values in which cached nodes are leaves. */
export function withCachedLeaves(
  values: readonly Value[],
  { nodes, isCached }: UncachedPart,
): readonly Value[] {
  const leaves = nodes.filter(isCached).flatMap(({ outputs }) =>
    outputs.flatMap((output) => {
      const data = computedElements(output);
      return data ? [[output, input(output.dtype, output.shape, { data })] as const] : [];
    }),
  );
  return leaves.length === 0 ? values : substitute(values, new Map(leaves));
}

function hasCachedOutput({ outputs }: Node): boolean {
  for (const output of outputs) if (output.known !== undefined) return true;
  return false;
}
