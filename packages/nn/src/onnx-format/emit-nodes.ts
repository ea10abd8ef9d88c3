import { isFloat } from '../dtype.ts';
import { inSequence, isCollective } from '../graph/collective.ts';
import { isNode, type Node, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { definitionOf } from '../ops/index.ts';
import { EmittedNames, viewInFloat32 } from './emitted-names.ts';
import type { GraphBuilder } from './graph-builder.ts';

export interface NamedValue {
  readonly name: string;
  readonly value: Value;
}

/**
 * Emits every node that the outputs depend on.
 *
 * @param leaves values that the graph already declares under these names
 */
export function emitNodes(
  graph: GraphBuilder,
  leaves: readonly NamedValue[],
  outputs: readonly NamedValue[],
  { begins, copies = false, firstCall = 0, after }: EmitOptions = {},
): EmittedCollectives {
  // onnxruntime computes the output that is emitted last first, with everything that it depends on. Reversed, the loss
  // comes first, then the gradients from the last layer to the first, so that each layer's activations are freed early.
  const last = outputs.map(({ value }) => value).toReversed();
  const collectives = inSequence(topologicalOrder(last));
  const order = topologicalOrder([...collectives.map(({ outputs: [first] }) => first), ...last]);
  let token = after;
  const read = new Set<Value>([
    ...order.flatMap(({ inputs }) => inputs),
    ...outputs.map(({ value }) => value),
  ]);
  const names = new EmittedNames(graph);
  for (const { name, value } of leaves) names.setInFloat32(value, name);
  const requestedNames = new Map(copies ? [] : outputs.map(({ name, value }) => [value, name]));
  for (const node of order) {
    if (isNode(node, 'Input') || names.has(node.outputs[0])) continue;
    const definition = definitionOf(node);
    const { omits = [], takesBfloat16 = false } = definition;
    const inputs = node.inputs.map((input) => (takesBfloat16 ? names.of(input) : names.inFloat32(input)));
    const outputNames = node.outputs.map((output, position) => {
      if (!read.has(output)) return omits.includes(position) ? '' : graph.freshName('unread');
      const requested = output.dtype === 'bfloat16' ? undefined : requestedNames.get(output);
      return requested ?? graph.freshName(node.op);
    });
    begins?.(node, inputs, outputNames);
    if (isCollective(node)) {
      const after = token === undefined ? [] : [token];
      token = graph.freshName('token');
      const call = firstCall + collectives.indexOf(node);
      const received = [token, ...outputNames];
      if (isNode(node, 'CombineStatistics')) {
        graph.ownNode('CombineStatistics', [...inputs, ...after], received, { call });
      } else {
        const shapes = node.outputs.flatMap(({ shape }) => [shape.length, ...shape]);
        graph.ownNode('RunCall', [...inputs, ...after], received, { call, sends: inputs.length, shapes });
      }
    } else {
      definition.emit(graph, takesBfloat16 ? node : viewInFloat32(node), inputs, outputNames);
    }
    for (const [index, output] of node.outputs.entries()) {
      if (takesBfloat16) names.set(output, outputNames[index]);
      else names.setComputed(output, outputNames[index]);
    }
  }
  // An output may be requested under two names, or be a leaf.
  for (const { name, value } of copies ? outputs.toReversed() : outputs) {
    const source = names.inFloat32(value);
    if (source === name) continue;
    // onnxruntime would remove Identity.
    if (copies && isFloat(value)) graph.ownNode('Copy', [source], [name]);
    else graph.node('Identity', [source], [name]);
  }
  return { count: collectives.length, token };
}

interface EmitOptions {
  /** Called before each node is emitted, with the names of its inputs and outputs. */
  readonly begins?: (node: Node, inputs: readonly string[], outputs: readonly string[]) => void;
  /** If true, no node reads the memory of an output. Default: false. */
  readonly copies?: boolean;
  /** Call of the first collective. Default: 0. */
  readonly firstCall?: number;
  /** Value to compute before the first collective. Default: none. */
  readonly after?: string | undefined;
}

/** The collectives of a graph: calls from 0, each after the previous one. */
export interface EmittedCollectives {
  readonly count: number;
  /** The token that the last collective computes. */
  readonly token: string | undefined;
}
