import { newArray } from '../dtype.ts';
import { isNode, sizeOf, type Node, type Value } from '../graph/node.ts';
import type { Leaf } from '../graph/structure.ts';
import { substitute } from '../graph/substitute.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { input } from '../ops/source.ts';

/** A part of a graph that runs by itself. */
export interface Segment {
  /** What was asked of this part, in the order of asking. */
  readonly outputs: readonly Value[];
  /** What later parts read of it besides. */
  readonly carried: readonly Carried[];
}

/** A value of one part, and the leaf that stands for it in others. */
export interface Carried {
  readonly value: Value;
  readonly leaf: Leaf;
}

/**
 * Cuts a graph into parts that run one after the other, and each compute what is asked of them: a value is computed by the first part that
 * needs it, and carried in an array to the others.
 *
 * @param wanted what each part shall give
 */
export function cut(wanted: readonly (readonly Value[])[]): Segment[] {
  const partOf = firstPartThatNeeds(wanted);
  const carried = new Map<Value, Carried>();
  for (const [part, values] of wanted.entries()) {
    const nodes = topologicalOrder(values).filter((node) => partOf.get(node) === part);
    for (const value of [...nodes.flatMap(({ inputs }) => inputs), ...values]) {
      if (partOf.get(value.node)! < part && isComputed(value)) {
        carried.set(value, carried.get(value) ?? { value, leaf: leafFor(value) });
      }
    }
  }
  return wanted.map((values, part) => {
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

function firstPartThatNeeds(wanted: readonly (readonly Value[])[]): Map<Node, number> {
  const partOf = new Map<Node, number>();
  for (const [part, values] of wanted.entries()) {
    for (const node of topologicalOrder(values)) if (!partOf.has(node)) partOf.set(node, part);
  }
  return partOf;
}

/** Leaves are there for every part. */
function isComputed({ node }: Value): boolean {
  return !isNode(node, 'Input') && !isNode(node, 'Number') && !isNode(node, 'Constant');
}

/** A leaf with an array of its own. */
export function leafFor({ dtype, shape }: Value): Leaf {
  const source = { data: newArray(dtype, sizeOf(shape)) };
  return { value: input(dtype, shape, source), source };
}
