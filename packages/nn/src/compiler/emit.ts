import { inSequence, isCollective } from '../graph/collective.ts';
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
 * Emits every node that the outputs depend on.
 *
 * @param leaves values that the graph already declares under these names
 * @param begins called before each node is emitted
 */
export function emitNodes(
  graph: GraphBuilder,
  leaves: readonly NamedValue[],
  outputs: readonly NamedValue[],
  begins: (node: Node) => void = () => undefined,
): EmittedCollectives {
  // onnxruntime computes the output that is emitted last first, with everything that it depends on. Reversed, the loss
  // comes first, then the gradients from the last layer to the first, so that each layer's activations are freed early.
  const last = outputs.map(({ value }) => value).toReversed();
  const collectives = inSequence(topologicalOrder(last));
  const order = topologicalOrder([...collectives.map(({ outputs: [first] }) => first), ...last]);
  let token: string | undefined;
  const read = new Set<Value>([
    ...order.flatMap(({ inputs }) => inputs),
    ...outputs.map(({ value }) => value),
  ]);
  const names = new Map<Value, string>(leaves.map(({ name, value }) => [value, name]));
  const requestedNames = new Map(outputs.map(({ name, value }) => [value, name]));
  for (const node of order) {
    if (isNode(node, 'Input') || names.has(node.outputs[0])) continue;
    const inputs = node.inputs.map((input) => names.get(input)!);
    const outputNames = node.outputs.map(
      (output) => requestedNames.get(output) ?? (read.has(output) ? graph.freshName(node.op) : ''),
    );
    for (const [index, output] of node.outputs.entries()) names.set(output, outputNames[index]);
    begins(node);
    if (isCollective(node)) {
      const after = token === undefined ? [] : [token];
      token = graph.freshName('token');
      graph.ownNode(
        'RunCall',
        [...inputs, ...after],
        [token, ...outputNames.map((name) => name || graph.freshName('unread'))],
        {
          call: collectives.indexOf(node),
          sends: inputs.length,
          shapes: node.outputs.flatMap(({ shape }) => [shape.length, ...shape]),
        },
      );
    } else {
      definitionOf(node).emit(graph, node, inputs, outputNames);
    }
  }
  // An output may be requested under two names, or be a leaf.
  for (const { name, value } of outputs) {
    if (names.get(value) !== name) graph.node('Identity', [names.get(value)!], [name]);
  }
  return { count: collectives.length, token };
}

/** The collectives of a graph: calls from 0, each after the one before. */
interface EmittedCollectives {
  readonly count: number;
  /** Computed by the last one. */
  readonly token: string | undefined;
}

export interface ModelOptions {
  /**
   * True for a training step, whose first dimensions become dynamic. With static sizes, onnxruntime's memory planner
   * reuses one block for equal shapes and holds it from first to last use: 150 MB in a step of ResNet-18. With dynamic
   * sizes, planning takes time quadratic in the number of operators, so long graphs of small arrays pass false.
   * Default: false.
   */
  readonly keepsActivations?: boolean;
  /** Positions of the outputs that are ready together. Each part has a call, after those of the graph's collectives. */
  readonly parts?: readonly (readonly number[])[];
}

/** Emits the ONNX model of a program that takes the leaves' arrays and computes the outputs. */
export function emitModel(
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  { keepsActivations = false, parts = [] }: ModelOptions = {},
): Uint8Array {
  const graph = new GraphBuilder();
  const inputs = leaves.map(({ value }, position) => ({ name: inputName(position), value }));
  const results = outputs.map((value, position) => ({ name: outputName(position), value }));
  for (const { name, value } of inputs) {
    const isDynamic = keepsActivations && !isTrained(value);
    graph.input(name, value.dtype, isDynamic ? withDynamicBatch(value.shape) : value.shape);
  }
  for (const { name, value } of results) graph.output(name, value.dtype, value.shape);
  emitStarts(graph, parts, results, emitNodes(graph, inputs, results));
  return graph.encode();
}

/**
 * Emits a node for each part that starts its call when its outputs have been written. Tokens make the order of the calls
 * that of the parts, after the graph's collectives.
 */
export function emitStarts(
  graph: GraphBuilder,
  parts: readonly (readonly number[])[],
  results: readonly NamedValue[],
  { count, token }: EmittedCollectives,
): void {
  const inParts = new Set(parts.flat());
  // Computed first, as without parts: the loss.
  const others = results.filter(({ value }, i) => !inParts.has(i) && value.dtype === 'float32');
  const tokens: string[] = [];
  for (const [index, outputs] of parts.entries()) {
    const before =
      index === 0 ? [...others.map(({ name }) => name), ...(token ? [token] : [])] : [tokens[index - 1]];
    tokens.push(graph.freshName('token'));
    graph.ownNode('StartCall', [...outputs.map(outputName), ...before], [tokens[index]], {
      call: count + index,
      outputs,
    });
  }
  // onnxruntime computes the node without readers that is emitted last first, with everything that it depends on.
  // Without these nodes, it would compute the last part first.
  for (const one of tokens.toReversed()) {
    graph.ownNode('StartCall', [one], [graph.freshName('token')], { call: -1, outputs: [] });
  }
}

function isTrained({ node }: Value): boolean {
  return isNode(node, 'Input') && node.attributes.source.parameter !== undefined;
}

function withDynamicBatch(shape: readonly number[]): Dimension[] {
  return shape.map((size, axis) => (axis === 0 ? undefined : size));
}
