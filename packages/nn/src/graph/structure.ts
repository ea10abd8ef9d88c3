import { arrayFrom } from '../dtype.ts';
import { inSequence, isCollective } from './collective.ts';
import { isNode, type Node, type Value } from './node.ts';
import type { CollectiveGroup } from './attributes.ts';
import type { Source } from './source.ts';
import { isSameData } from './same-data.ts';
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
  hash = 0;
  /** Operators, edges, and types of leaves. */
  readonly #parts: (string | number)[] = [];
  readonly #attributes: unknown[] = [];

  equals(other: StructureKey): boolean {
    if (this === other) return true;
    if (this.hash !== other.hash || this.#parts.length !== other.#parts.length) return false;
    for (let i = 0; i < this.#parts.length; i += 1) {
      if (this.#parts[i] !== other.#parts[i]) return false;
    }
    return isSameData(this.#attributes, other.#attributes);
  }

  addName(name: string): void {
    this.#parts.push(name);
  }

  addNumber(number: number): void {
    this.#parts.push(number);
    this.hash = (Math.imul(this.hash, 31) + number) | 0;
  }

  addAttributes(attributes: unknown): void {
    this.#attributes.push(attributes);
  }
}

/** @param order all nodes of the graph, if known */
export function structureOf(
  outputs: readonly Value[],
  order: readonly Node[] = topologicalOrder(outputs),
): Structure {
  const key = new StructureKey();
  const leaves: Leaf[] = [];
  const collectives = inSequence(order);
  const groups = [...new Set(collectives.map(({ attributes }) => attributes.group))];
  const positions = new Map<Node, number>();
  const addEdge = ({ node, index }: Value) => {
    key.addNumber(positions.get(node)!);
    key.addNumber(index);
  };
  for (const node of order) {
    positions.set(node, positions.size);
    key.addName(node.op);
    for (const input of node.inputs) addEdge(input);
    const source = sourceOf(node);
    if (source !== undefined) {
      leaves.push({ value: node.outputs[0], source });
      addTypeOfLeaf(key, node.outputs[0], source);
    } else if (isCollective(node)) {
      key.addNumber(groups.indexOf(node.attributes.group));
      key.addNumber(node.attributes.group.size);
      key.addNumber(collectives.indexOf(node));
      key.addAttributes({ ...node.attributes, group: undefined, sequence: undefined });
    } else if (!isNode(node, 'Variable') && !isNode(node, 'CustomFunction'))
      key.addAttributes(node.attributes);
  }
  key.addName('outputs');
  for (const output of outputs) addEdge(output);
  return { leaves, groups, key };
}

function sourceOf(node: Node): Source | undefined {
  if (isNode(node, 'Input')) return node.attributes.source;
  return isNode(node, 'Number')
    ? { data: arrayFrom(node.outputs[0].dtype, [node.attributes.value]) }
    : undefined;
}

function addTypeOfLeaf(key: StructureKey, { dtype, shape }: Value, source: Source): void {
  key.addName(source.parameter === undefined ? 'data' : 'parameter');
  key.addName(dtype);
  for (const size of shape) key.addNumber(size);
}
