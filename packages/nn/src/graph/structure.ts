import { exactJson } from './exact-json.ts';
import { isNode, type Node, type Value } from './node.ts';
import type { Source } from './operators.ts';
import { topologicalOrder } from './topology.ts';

/** A leaf of a graph, and what it reads. */
export interface Leaf {
  readonly value: Value;
  readonly source: Source;
}

/** What makes two graphs the same program: everything but the arrays that their leaves read. */
export interface Structure {
  /** The leaves in the order in which the program takes their arrays. */
  readonly leaves: readonly Leaf[];
  /** Equal for graphs of equal operators, attributes, shapes and connections. */
  readonly key: string;
}

export function structureOf(outputs: readonly Value[]): Structure {
  const order = topologicalOrder(outputs);
  const positions = new Map<Node, number>(order.map((node, position) => [node, position]));
  const reference = ({ node, index }: Value) => `${positions.get(node)!}.${index}`;
  const leaves: Leaf[] = [];
  const lines = order.map((node) => {
    const value = node.outputs[0];
    if (isNode(node, 'Input')) {
      const { source } = node.attributes;
      leaves.push({ value, source });
      return `${source.parameter ? 'Parameter' : 'Input'}:${value.dtype}[${value.shape.join()}]`;
    }
    return `${node.op}(${node.inputs.map(reference).join()})${exactJson(node.attributes)}`;
  });
  return { leaves, key: `${lines.join(';')}=>${outputs.map(reference).join()}` };
}
