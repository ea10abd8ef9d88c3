import type { Leaf } from '../graph/structure.ts';
import { isNode, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { inputName, outputName } from '../executor/executor.ts';
import { GraphBuilder } from '../onnx/graph-builder.ts';
import { definitionOf } from '../ops/index.ts';

export interface NamedValue {
  readonly name: string;
  readonly value: Value;
}

/** Writes every node that the outputs depend on; the leaves are declared already, under the given names. */
export function emitNodes(
  graph: GraphBuilder,
  leaves: readonly NamedValue[],
  outputs: readonly NamedValue[],
): void {
  const order = topologicalOrder(outputs.map(({ value }) => value));
  const read = new Set<Value>([
    ...order.flatMap(({ inputs }) => inputs),
    ...outputs.map(({ value }) => value),
  ]);
  const names = new Map<Value, string>(leaves.map(({ name, value }) => [value, name]));
  const given = new Map(outputs.map(({ name, value }) => [value, name]));
  for (const node of order) {
    if (isNode(node, 'Input')) continue;
    const inputs = node.inputs.map((input) => names.get(input)!);
    const outputNames = node.outputs.map(
      (output) => given.get(output) ?? (read.has(output) ? graph.freshName(node.op) : ''),
    );
    for (const [index, output] of node.outputs.entries()) names.set(output, outputNames[index]);
    definitionOf(node).emit(graph, node, inputs, outputNames);
  }
  // One value may be asked for twice, or be a leaf.
  for (const { name, value } of outputs) {
    if (names.get(value) !== name) graph.node('Identity', [names.get(value)!], [name]);
  }
}

/** The ONNX model of a program that takes the leaves' arrays and gives the outputs. */
export function emitModel(leaves: readonly Leaf[], outputs: readonly Value[]): Uint8Array {
  const graph = new GraphBuilder();
  const inputs = leaves.map(({ value }, position) => ({ name: inputName(position), value }));
  const results = outputs.map((value, position) => ({ name: outputName(position), value }));
  for (const { name, value } of inputs) graph.input(name, value.dtype, value.shape);
  for (const { name, value } of results) graph.output(name, value.dtype, value.shape);
  emitNodes(graph, inputs, results);
  return graph.encode();
}
