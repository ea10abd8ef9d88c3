import { newArray } from '../dtype.ts';
import { isNode, sizeOf, type Node, type Value } from '../graph/node.ts';
import type { Leaf } from '../graph/structure.ts';
import { substitute } from '../graph/substitute.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { input } from '../ops/source.ts';

/** A part of a graph that is compiled separately. */
export interface Segment {
  /** The requested values of this part, in their order. */
  readonly outputs: readonly Value[];
  /** Other values that later parts read. */
  readonly carried: readonly CarriedValue[];
}

/** A value of one part and the leaf that replaces it in later parts. */
export interface CarriedValue {
  readonly value: Value;
  readonly leaf: Leaf;
}

/**
 * Partitions a graph into parts that run one after another. The first part that needs a value computes it; later parts
 * read it from an array.
 *
 * @param requested the outputs of each part
 */
export function partition(requested: readonly (readonly Value[])[]): Segment[] {
  const partOf = firstPartReading(requested);
  const carried = new Map<Value, CarriedValue>();
  for (const [part, values] of requested.entries()) {
    const nodes = topologicalOrder(values).filter((node) => partOf.get(node) === part);
    for (const value of [...nodes.flatMap(({ inputs }) => inputs), ...values]) {
      if (partOf.get(value.node)! < part && isComputed(value)) {
        carried.set(value, carried.get(value) ?? { value, leaf: leafFor(value) });
      }
    }
  }
  return requested.map((values, part) => {
    const own = [...carried.values()].filter(({ value }) => partOf.get(value.node) === part);
    const earlier = [...carried.values()].filter(({ value }) => partOf.get(value.node)! < part);
    const leaves = new Map(earlier.map(({ value, leaf }) => [value, leaf.value]));
    const outputs = substitute([...values, ...own.map(({ value }) => value)], leaves);
    return {
      outputs: outputs.slice(0, values.length),
      carried: own.map(({ leaf }, position) => ({ value: outputs[values.length + position], leaf })),
    };
  });
}

function firstPartReading(requested: readonly (readonly Value[])[]): Map<Node, number> {
  const partOf = new Map<Node, number>();
  for (const [part, values] of requested.entries()) {
    for (const node of topologicalOrder(values)) if (!partOf.has(node)) partOf.set(node, part);
  }
  return partOf;
}

/** Leaves are available to every part. */
function isComputed({ node }: Value): boolean {
  return !isNode(node, 'Input') && !isNode(node, 'Number') && !isNode(node, 'Constant');
}

/** A leaf with a new array. */
export function leafFor({ dtype, shape }: Value): Leaf {
  const source = { data: newArray(dtype, sizeOf(shape)) };
  return { value: input(dtype, shape, source), source };
}
