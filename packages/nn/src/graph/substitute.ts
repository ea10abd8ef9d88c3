import { createNode, type Value } from './node.ts';
import { topologicalOrder } from './topology.ts';
import { isSameSequence } from './same-data.ts';

/** The outputs of a graph with some values replaced. Nodes that do not depend on a replaced value stay the same objects. */
export function substitute(outputs: readonly Value[], replacements: ReadonlyMap<Value, Value>): Value[] {
  const replaced = new Map(replacements);
  const current = (value: Value): Value => replaced.get(value) ?? value;
  for (const node of topologicalOrder(outputs)) {
    const inputs = node.inputs.map(current);
    if (isSameSequence(inputs, node.inputs)) continue;
    const rebuilt = createNode(node.op, inputs, node.attributes, node.outputs);
    for (const [index, output] of node.outputs.entries()) {
      if (!replacements.has(output)) replaced.set(output, rebuilt.outputs[index]);
    }
  }
  return outputs.map(current);
}
