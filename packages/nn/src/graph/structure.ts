import { arrayFrom } from '../dtype.ts';
import { inSequence, isCollective, type CollectiveNode } from './collective.ts';
import { isNode, type Node, type Value } from './node.ts';
import type { CollectiveGroup } from './attributes.ts';
import { Recent } from './recent.ts';
import type { Source } from './source.ts';
import { isSameData, isSameSequence } from './same-data.ts';
import { topologicalOrder } from './topology.ts';

/** A leaf of a graph and its source. */
export interface Leaf {
  readonly value: Value;
  readonly source: Source;
}

/** A graph as programs see it. */
export interface Structure {
  /** The leaves, in the order in which the program takes their arrays. */
  readonly leaves: readonly Leaf[];
  /** The distinct groups of the collectives, in the order in which runs take them. */
  readonly groups: readonly CollectiveGroup[];
  readonly key: StructureKey;
}

/**
 * What two graphs must share to be one program: operators, attributes, shapes and edges, the order of collectives, and the
 * assignment of collectives to groups, of which each has a size; everything except the arrays of leaves and the groups themselves.
 */
export class StructureKey {
  /** Equal for equal keys. */
  readonly hash: number;
  /** Operators, edges, and types of leaves. */
  readonly #parts: readonly Part[];
  readonly #attributes: readonly unknown[];

  constructor(hash: number, parts: readonly Part[], attributes: readonly unknown[]) {
    this.hash = hash;
    this.#parts = parts;
    this.#attributes = attributes;
  }

  equals(other: StructureKey): boolean {
    return this === other || (this.hash === other.hash && this.has(other.#parts, other.#attributes));
  }

  /** True if these are its parts and attributes. */
  has(parts: readonly Part[], attributes: readonly unknown[]): boolean {
    return isSameSequence(this.#parts, parts) && isSameData(this.#attributes, attributes);
  }

  /** A key that is equal to another one if both keys and their names are equal. */
  and(name: string): StructureKey {
    return new StructureKey(this.hash, [...this.#parts, name], this.#attributes);
  }
}

type Part = string | number;

/** The keys of the last graphs. Equal graphs have the same key, so that comparing it again takes no time. */
const keys = new Recent<StructureKey>(64);

function keyOf(hash: number, parts: readonly Part[], attributes: readonly unknown[]): StructureKey {
  return keys.use(
    (key) => key.hash === hash && key.has(parts, attributes),
    () => new StructureKey(hash, parts, attributes),
  );
}

/** @param order all nodes of the graph, if known */
export function structureOf(
  outputs: readonly Value[],
  order: readonly Node[] = topologicalOrder(outputs),
): Structure {
  const leaves: Leaf[] = [];
  const collectives = inSequence(order);
  const groups = collectives.length === 0 ? [] : distinctGroups(collectives);
  const parts: Part[] = [];
  const attributes: unknown[] = [];
  let hash = 0;
  const addNumber = (number: number) => {
    parts.push(number);
    hash = (Math.imul(hash, 31) + number) | 0;
  };
  const addEdge = ({ node, index }: Value) => {
    addNumber(node.position);
    addNumber(index);
  };
  for (let position = 0; position < order.length; position += 1) {
    const node = order[position];
    node.position = position;
    parts.push(node.op);
    node.inputs.forEach(addEdge);
    const source = sourceOf(node);
    if (source !== undefined) {
      const [value] = node.outputs;
      leaves.push({ value, source });
      parts.push(source.parameter === undefined ? 'data' : 'parameter', value.dtype);
      value.shape.forEach(addNumber);
    } else if (isCollective(node)) {
      addNumber(groups.indexOf(node.attributes.group));
      addNumber(node.attributes.group.size);
      addNumber(collectives.indexOf(node));
      attributes.push({ ...node.attributes, group: undefined, sequence: undefined });
    } else if (!isNode(node, 'Variable') && !isNode(node, 'CustomFunction')) attributes.push(node.attributes);
  }
  parts.push('outputs');
  outputs.forEach(addEdge);
  return { leaves, groups, key: keyOf(hash, parts, attributes) };
}

function distinctGroups(collectives: readonly CollectiveNode[]): CollectiveGroup[] {
  return [...new Set(collectives.map(({ attributes }) => attributes.group))];
}

function sourceOf(node: Node): Source | undefined {
  if (isNode(node, 'Input')) return node.attributes.source;
  return isNode(node, 'Number')
    ? { data: arrayFrom(node.outputs[0].dtype, [node.attributes.value]) }
    : undefined;
}
