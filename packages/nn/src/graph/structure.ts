import { inSequence, isCollective } from './collective.ts';
import { exactJson } from './exact-json.ts';
import { isNode, type Node, type Value } from './node.ts';
import type { CollectiveGroup, Source } from './operators.ts';
import { topologicalOrder } from './topology.ts';

/** A leaf of a graph and its source. */
export interface Leaf {
  readonly value: Value;
  readonly source: Source;
}

/** What two graphs must share to be one program: everything except the leaves' arrays and the collectives' groups. */
export interface Structure {
  /** The leaves, in the order in which the program takes their arrays. */
  readonly leaves: readonly Leaf[];
  /** The distinct groups of the collectives, in the order in which runs take them. */
  readonly groups: readonly CollectiveGroup[];
  /**
   * Equal for graphs with equal operators, attributes, shapes and edges, the same order of collectives, and the same
   * assignment of collectives to groups.
   */
  readonly key: string;
}

export function structureOf(outputs: readonly Value[]): Structure {
  const order = topologicalOrder(outputs);
  const positions = new Map<Node, number>(order.map((node, position) => [node, position]));
  const reference = ({ node, index }: Value) => `${positions.get(node)!}.${index}`;
  const leaves: Leaf[] = [];
  const collectives = inSequence(order);
  const groups = [...new Set(collectives.map(({ attributes }) => attributes.group))];
  const lines = order.map((node) => {
    const value = node.outputs[0];
    if (isNode(node, 'Input')) {
      const { source } = node.attributes;
      leaves.push({ value, source });
      return `${source.parameter ? 'Parameter' : 'Input'}:${value.dtype}[${value.shape.join()}]`;
    }
    if (isNode(node, 'Number')) {
      leaves.push({ value, source: { data: Float32Array.of(node.attributes.value) } });
      return 'Number';
    }
    const attributes = isCollective(node)
      ? {
          ...node.attributes,
          group: groups.indexOf(node.attributes.group),
          sequence: collectives.indexOf(node),
        }
      : node.attributes;
    return `${node.op}(${node.inputs.map(reference).join()})${exactJson(attributes)}`;
  });
  return { leaves, groups, key: `${lines.join(';')}=>${outputs.map(reference).join()}` };
}
