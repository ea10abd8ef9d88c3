import { isFloat } from '../../dtype.ts';
import type { Leaf } from '../../graph/structure.ts';
import type { Value } from '../../graph/node.ts';
import { isParameter, topologicalOrder } from '../../graph/topology.ts';
import { inputName, outputName } from './onnx-model.ts';
import type { ProgramUpdate, SharedUpdate } from '../executor.ts';
import { GraphBuilder, type Dimension } from '../../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../../onnx-format/type-codes.ts';
import { inFloat32 } from '../../value-type.ts';
import { emitNodes, type EmittedCollectives, type NamedValue } from '../../onnx-format/emit-nodes.ts';

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
  readonly update?: ProgramUpdate;
}

/** Emits the ONNX model of a program that takes the leaves' arrays and computes the outputs. */
export function emitModel(
  leaves: readonly Leaf[],
  outputs: readonly Value[],
  { keepsActivations = false, parts = [], update }: ModelOptions = {},
): Uint8Array {
  const graph = new GraphBuilder();
  const inputs = leaves.map(({ value }, position) => ({ name: inputName(position), value }));
  const results = outputs.map((value, position) => ({ name: outputName(position), value }));
  for (const { name, value } of inputs) {
    const isDynamic = keepsActivations && !isParameter(value.node);
    const { dtype, shape } = inFloat32(value);
    graph.input(name, dtype, isDynamic ? withDynamicBatch(shape) : shape);
  }
  for (const { name, value } of results) graph.output(name, inFloat32(value).dtype, value.shape);
  // The call of a part changes its outputs while others are computed, which may read the same values: a gradient of
  // batch normalization is part of another gradient, and onnxruntime merges equal nodes.
  const collectives = emitNodes(graph, inputs, results, { copies: parts.length > 1 });
  const tokens = emitStarts(graph, parts, results, collectives);
  if (update) emitUpdate(graph, { inputs, results, parts, update, tokens });
  tokens.emitReaders();
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
): Tokens {
  const inParts = new Set(parts.flat());
  // Computed first, as without parts: the loss.
  const others = results.filter((_, i) => !inParts.has(i)).flatMap((result) => asNumbers(graph, result));
  const tokens: string[] = [];
  for (const [index, outputs] of parts.entries()) {
    const before = index === 0 ? [...others, ...(token ? [token] : [])] : [tokens[index - 1]];
    tokens.push(graph.freshName('token'));
    graph.ownNode('StartCall', [...outputs.map(outputName), ...before], [tokens[index]], {
      call: count + index,
      outputs,
    });
  }
  return {
    first: count,
    last: tokens.at(-1),
    // onnxruntime computes the node without readers that is emitted last first, with everything that it depends on.
    // Without these nodes, it would compute the last part first.
    emitReaders: () => {
      for (const one of tokens.toReversed()) {
        graph.ownNode('StartCall', [one], [graph.freshName('token')], { call: -1, outputs: [] });
      }
    },
  };
}

/** Floats that are computed together with a result, if the parameters that it reads may change afterwards. */
function asNumbers(graph: GraphBuilder, { name, value }: NamedValue): string[] {
  if (isFloat(value)) return [name];
  if (!topologicalOrder([value]).some(isParameter)) return [];
  const numbers = graph.freshName('numbers');
  graph.node('Cast', [name], [numbers], { to: dataTypeCode.float32 });
  return [numbers];
}

/** The tokens of the parts' calls. */
interface Tokens {
  /** Call of the first part. */
  readonly first: number;
  /** Undefined without parts. */
  readonly last: string | undefined;
  /** Call it when all other nodes have been emitted. */
  emitReaders(): void;
}

/**
 * Emits the nodes of an update after all others, so that it may overwrite their inputs: it reads the outputs after
 * their calls, and the calls run after all other nodes.
 */
function emitUpdate(graph: GraphBuilder, { inputs, results, parts, update, tokens }: UpdateContext): void {
  const ownInputs = update.leaves.map(({ value }, i) => ({ name: inputName(inputs.length + i), value }));
  const ownResults = update.outputs.map((value, i) => ({ name: outputName(results.length + i), value }));
  for (const { name, value } of ownInputs) graph.input(name, value.dtype, value.shape);
  for (const { name, value } of ownResults) graph.output(name, value.dtype, value.shape);
  const names = new Map<number, string>();
  const awaitCall = (call: number, token: string, outputs: readonly number[]) => {
    for (const output of outputs) names.set(output, graph.freshName('awaited'));
    const results = outputs.map((output) => names.get(output)!);
    graph.ownNode('AwaitCall', [token, ...outputs.map(outputName)], results, { call, outputs });
  };
  for (const [index, outputs] of parts.entries()) awaitCall(tokens.first + index, tokens.last!, outputs);
  const others = [...update.reads.keys()].filter((output) => !names.has(output));
  if (others.length > 0) awaitCall(-1, tokens.last ?? emitToken(graph, results), others);
  const awaited = Array.from(update.reads, ([output, value]) => ({ name: names.get(output)!, value }));
  const values = { inputs: [...inputs, ...ownInputs], awaited, results: ownResults };
  if (update.shared) {
    const calls = { first: tokens.first + parts.length, before: [...names.values()] };
    emitShared(graph, calls, values, update.shared);
    return;
  }
  for (const { name, value } of awaited) graph.value(name, value.dtype, value.shape);
  emitNodes(graph, [...values.inputs, ...awaited], ownResults);
}

/**
 * Emits an update with its barriers. Each of its nodes that writes or may fail reads a gradient or part of one.
 *
 * @param calls `first`: the first call of the update; `before`: tokens of the earlier calls, the last after all
 */
function emitShared(
  graph: GraphBuilder,
  calls: { readonly first: number; readonly before: readonly string[] },
  { inputs, awaited, results }: Record<'inputs' | 'awaited' | 'results', readonly NamedValue[]>,
  { gradients, waitsBefore }: SharedUpdate,
): void {
  const barrier = (call: number, after: readonly string[]) => {
    const passed = graph.freshName('token');
    graph.ownNode('RunCall', after, [passed], { call, sends: 0, shapes: [] });
    return passed;
  };
  const before = waitsBefore && calls.before.length === 0 ? [inputs[0].name] : calls.before;
  const begun = waitsBefore ? barrier(calls.first, before) : before.at(-1);
  const read = new Set(
    topologicalOrder(results.map(({ value }) => value)).map(({ outputs: [value] }) => value),
  );
  const exposed = new Set(gradients);
  const guarded = [...awaited, ...inputs.filter(({ value }) => exposed.has(value))]
    .filter(({ value }) => read.has(value))
    .map(({ name, value }) => ({ name: graph.freshName('awaited'), from: name, value }));
  if (begun !== undefined && guarded.length > 0) {
    const outputs = guarded.map(() => -1);
    const names = guarded.map(({ name }) => name);
    graph.ownNode('AwaitCall', [begun, ...guarded.map(({ from }) => from)], names, { call: -1, outputs });
    for (const { name, value } of guarded) graph.value(name, value.dtype, value.shape);
  }
  const firstCall = calls.first + (waitsBefore ? 1 : 0);
  const { count } = emitNodes(graph, [...inputs, ...(begun === undefined ? [] : guarded)], results, {
    firstCall,
    after: begun,
  });
  const ends = results.map(({ name }) => name);
  barrier(firstCall + count, begun === undefined ? ends : [begun, ...ends]);
}

interface UpdateContext {
  readonly inputs: readonly NamedValue[];
  readonly results: readonly NamedValue[];
  readonly parts: readonly (readonly number[])[];
  readonly update: ProgramUpdate;
  readonly tokens: Tokens;
}

/** A token that is computed after all results. */
function emitToken(graph: GraphBuilder, results: readonly NamedValue[]): string {
  const token = graph.freshName('token');
  const numbers = results.filter(({ value }) => isFloat(value)).map(({ name }) => name);
  graph.ownNode('StartCall', numbers, [token], { call: -1, outputs: [] });
  return token;
}

function withDynamicBatch(shape: readonly number[]): Dimension[] {
  return shape.map((size, axis) => (axis === 0 ? undefined : size));
}
