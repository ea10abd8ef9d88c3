import { exactJson } from '../../onnx-format/exact-json.ts';
import { DynamicConstants } from './dynamic-constants.ts';
import type { Dimension, GraphBuilder } from '../../onnx-format/graph-builder.ts';
import type { ConstantEntry, NodeEntry } from './recording-graph.ts';
import { describeSize } from './size-expression.ts';
import type { SizeSamples } from './size-samples.ts';
import { expressionOf } from './size-solver.ts';
import { SizeWriter } from './size-writer.ts';
import {
  alternativesOf,
  differenceError,
  differingAttributes,
  unchangedInput,
  type Alternatives,
  type Traces,
} from './traces.ts';

/** A dimension of an input that has a dynamic size. */
export interface DimensionPlace {
  readonly input: string;
  readonly axis: number;
}

/**
 * Merges graphs for different sizes into one with dynamic sizes: numbers that depend on sizes are computed from the sizes of
 * the inputs, or of the operation's inputs. Operations that change nothing are removed.
 *
 * @param places a dimension of an input that has each size
 * @param outputs names of the graph's outputs
 * @throws ArgumentError that names the operation if the graphs differ in another way
 */
export function writeWithDynamicSizes(
  graph: GraphBuilder,
  traces: Traces,
  places: readonly DimensionPlace[],
  outputs: readonly string[],
): void {
  new Merge(graph, traces, places, outputs).write();
}

/** A dimension of an output: its size, `batch`, or a formula; undefined if no formula matches. */
export function dynamicDimension({ names, calls }: SizeSamples, sizes: readonly number[]): Dimension {
  const known = names.map((_, index) => ({
    expression: { op: 'Dimension', index } as const,
    column: calls.map((call) => call[index]),
  }));
  const expression = expressionOf(sizes, known);
  if (expression === undefined || typeof expression === 'number') return expression;
  return describeSize(expression, names);
}

class Merge {
  readonly #graph: GraphBuilder;
  readonly #traces: Traces;
  readonly #alternatives: readonly Alternatives[];
  readonly #constants: DynamicConstants;
  readonly #outputs: ReadonlySet<string>;
  /** Names in the exported graph by the names in the traces. */
  readonly #names = new Map<string, string>();
  /** Replacement of each operation that changes nothing, by its output's name. */
  readonly #unchanged = new Map<string, string>();
  readonly #entries = new Map<string, readonly ConstantEntry[]>();

  constructor(
    graph: GraphBuilder,
    traces: Traces,
    places: readonly DimensionPlace[],
    outputs: readonly string[],
  ) {
    this.#graph = graph;
    this.#traces = traces;
    this.#outputs = new Set(outputs);
    this.#alternatives = alternativesOf(traces);
    this.#constants = new DynamicConstants(new SizeWriter(graph), graph, traces);
    for (const [size, { input, axis }] of places.entries()) {
      this.#constants.addSize(
        input,
        axis,
        traces.samples.calls.map((call) => call[size]),
      );
    }
  }

  write(): void {
    const needed = this.#needed();
    for (const entries of this.#alternatives) {
      if (isConstants(entries)) this.#entries.set(entries[0].name, entries);
      else if (entries[0].outputs.some((name) => needed.has(name))) this.#writeNode(entries);
    }
  }

  /** The names that the outputs depend on. */
  #needed(): ReadonlySet<string> {
    for (const entries of this.#alternatives) {
      if (isConstants(entries)) continue;
      const [{ of, opType, operands, outputs, results }] = entries;
      // Only the operation's own node: an output with two names also has an Identity.
      if (of.op !== opType || outputs.join() !== results.join()) continue;
      const input = unchangedInput(entries.map((entry) => entry.of));
      if (input !== undefined) this.#unchanged.set(outputs[0], operands[input]);
    }
    const needed = new Set<string>(this.#outputs);
    for (const entries of this.#alternatives.toReversed()) {
      if (isConstants(entries)) continue;
      const [{ outputs, inputs, operands }] = entries;
      if (!outputs.some((name) => needed.has(name))) continue;
      const source = this.#unchanged.get(outputs[0]);
      // The sizes of all operands may be read.
      for (const name of source === undefined ? [...inputs, ...operands] : [source]) needed.add(name);
    }
    return needed;
  }

  #writeNode(entries: readonly NodeEntry[]): void {
    const [{ opType, inputs, outputs, operands, results }] = entries;
    const source = this.#unchanged.get(outputs[0]);
    if (source !== undefined) {
      const name = this.#inputOf(source);
      if (this.#outputs.has(outputs[0])) this.#graph.node('Identity', [name], outputs);
      this.#names.set(outputs[0], this.#outputs.has(outputs[0]) ? outputs[0] : name);
      return;
    }
    this.#constants.read(
      operands.map((name) => this.#known(name)),
      entries.map((entry) => entry.of.inputs),
    );
    const written = inputs.map((name, position) =>
      this.#inputOf(name, opType === 'Reshape' && position === 1),
    );
    this.#writeWithAttributes(entries, written);
    if (outputs.some((name) => results.includes(name))) {
      const values = entries.map((entry) => entry.of.outputs);
      const isWritten = (name: string) => outputs.includes(name);
      this.#constants.add(
        results.map((name) => (name && isWritten(name) ? name : undefined)),
        values,
      );
    }
  }

  /** A window that is longer at its end for some sizes: the padding becomes a node, which takes the pads as an input. */
  #writeWithAttributes(entries: readonly NodeEntry[], inputs: readonly string[]): void {
    const [{ of, origin, opType, outputs, attributes }] = entries;
    const differing = differingAttributes(entries);
    const pads = entries.map((entry) => entry.attributes.pads as readonly number[]);
    const isPooled = opType === 'MaxPool' || (opType === 'AveragePool' && attributes.count_include_pad === 1);
    if (differing.length === 0) {
      this.#graph.node(opType, inputs, outputs, attributes);
    } else if (differing.join() === 'pads' && isPooled && outputs.length === 1) {
      const rank = of.inputs[0].shape.length;
      const before = pads.map((list) => [0, 0, ...list.slice(0, rank - 2), 0, 0, ...list.slice(rank - 2)]);
      const counts = this.#constants.vector('int64', before, () => origin);
      const padded = this.#graph.freshName('padded');
      const number = this.#graph.constant('float32', [], [opType === 'MaxPool' ? -Infinity : 0]);
      this.#graph.node('Pad', [inputs[0], counts, number], [padded]);
      this.#graph.node(opType, [padded], outputs, { ...attributes, pads: pads[0].map(() => 0) });
    } else {
      const [name] = differing;
      const values = entries.map((entry) => exactJson(entry.attributes[name]));
      throw differenceError(this.#traces, origin, `${name} of ${opType}`, values);
    }
  }

  /** The name of an input in the exported graph; a constant is written when it is first read. */
  #inputOf(name: string, isShapeOfReshape = false): string {
    const entries = this.#entries.get(name);
    if (entries !== undefined && !this.#names.has(name)) {
      this.#names.set(name, this.#constants.write(entries, isShapeOfReshape));
    }
    return this.#names.get(name) ?? name;
  }

  /** Undefined for a value that has not been written. */
  #known(name: string): string | undefined {
    return this.#names.get(name) ?? (this.#entries.has(name) ? undefined : name);
  }
}

function isConstants(entries: Alternatives): entries is readonly ConstantEntry[] {
  return entries[0].kind === 'constant';
}
