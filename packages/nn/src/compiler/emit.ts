import type { Leaf } from '../graph/structure.ts';
import { isNode, type Node, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { inputName, outputName } from '../executor/executor.ts';
import { GraphBuilder, type Dimension } from '../onnx/graph-builder.ts';
import { definitionOf } from '../ops/index.ts';

export interface NamedValue {
  readonly name: string;
  readonly value: Value;
}

/**
 * Writes every node that the outputs depend on; the leaves are declared already, under the given names.
 *
 * @param begins called before each node is written
 */
export function emitNodes(
  graph: GraphBuilder,
  leaves: readonly NamedValue[],
  outputs: readonly NamedValue[],
  begins: (node: Node) => void = () => undefined,
): void {
  // onnxruntime computes what is written last first, with all that it depends on. So outputs are written from the last to the first: the loss comes first, then the gradients
  // from the last layer to the first, and what is kept for a layer's gradient is freed before the next layer's is computed.
  const order = topologicalOrder(outputs.map(({ value }) => value).toReversed());
  const read = new Set<Value>([
    ...order.flatMap(({ inputs }) => inputs),
    ...outputs.map(({ value }) => value),
  ]);
  const names = new Map<Value, string>(leaves.map(({ name, value }) => [value, name]));
  const given = new Map(outputs.map(({ name, value }) => [value, name]));
  for (const node of order) {
    if (isNode(node, 'Input') || names.has(node.outputs[0])) continue;
    const inputs = node.inputs.map((input) => names.get(input)!);
    const outputNames = node.outputs.map(
      (output) => given.get(output) ?? (read.has(output) ? graph.freshName(node.op) : ''),
    );
    for (const [index, output] of node.outputs.entries()) names.set(output, outputNames[index]);
    begins(node);
    definitionOf(node).emit(graph, node, inputs, outputNames);
  }
  // One value may be asked for twice, or be a leaf.
  for (const { name, value } of outputs) {
    if (names.get(value) !== name) graph.node('Identity', [names.get(value)!], [name]);
  }
}

/**
 * The ONNX model of a program that takes the leaves' arrays and gives the outputs.
 *
 * @param keepsActivations whether what one half of the program computes waits for the other, as in a training step. Then sizes that follow from the batch are
 *   left open. Where onnxruntime knows all sizes, it plans one place for arrays of equal shape that are not needed at the same time, and holds it from the first to
 *   the last of them: what the forward pass is done with is held until the backward pass has an array of that shape, 150 MB of them in a step of ResNet-18.
 *   The planner compares each array with all that it could take the place of, so a graph is planned in time that grows with the square of its operators where
 *   sizes are open. In a long graph of small arrays, such as an unrolled recurrent network, they are not left open.
 */
export function emitModel(
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  keepsActivations = false,
): Uint8Array {
  const graph = new GraphBuilder();
  const inputs = leaves.map(({ value }, position) => ({ name: inputName(position), value }));
  const results = outputs.map((value, position) => ({ name: outputName(position), value }));
  for (const { name, value } of inputs) {
    const open = keepsActivations && !isTrained(value);
    graph.input(name, value.dtype, open ? withOpenBatch(value.shape) : value.shape);
  }
  for (const { name, value } of results) graph.output(name, value.dtype, value.shape);
  emitNodes(graph, inputs, results);
  return graph.encode();
}

function isTrained({ node }: Value): boolean {
  return isNode(node, 'Input') && node.attributes.source.parameter !== undefined;
}

function withOpenBatch(shape: readonly number[]): Dimension[] {
  return shape.map((size, axis) => (axis === 0 ? undefined : size));
}
