import { describeModuleOf } from '../../compiler/anomaly.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { exactJson } from '../../onnx-format/exact-json.ts';
import { isNode, type Node } from '../../graph/node.ts';
import { isSameSequence } from '../../graph/same-data.ts';
import { describeType } from '../../value-type.ts';
import type { ConstantEntry, Entry, NodeEntry } from './recording-graph.ts';
import type { SizeSamples } from './size-samples.ts';

/** The graphs recorded for different sizes. */
export interface Traces {
  readonly samples: SizeSamples;
  /** One graph for each call. */
  readonly entries: readonly (readonly Entry[])[];
}

/** The entries at one place of the graphs, one for each call. */
export type Alternatives = readonly ConstantEntry[] | readonly NodeEntry[];

/**
 * The entries of all graphs, place by place.
 *
 * @throws ArgumentError that names the operation if the graphs have different operators
 */
export function alternativesOf(traces: Traces): Alternatives[] {
  const longest = Math.max(...traces.entries.map((one) => one.length));
  return Array.from({ length: longest }, (_, index) => {
    const entries = traces.entries.map((one) => one.at(index));
    requireOneKind(traces, entries);
    return entries as unknown as Alternatives;
  });
}

function requireOneKind({ samples, entries: all }: Traces, entries: readonly (Entry | undefined)[]): void {
  const kinds = entries.map((entry) => {
    if (entry === undefined) return undefined;
    const results = [entry.of.op, ...entry.of.outputs.map(({ shape }) => shape.length)].join();
    if (entry.kind === 'constant') return [results, entry.name, entry.dtype, entry.shape.length].join();
    return [results, entry.opType, entry.inputs, entry.outputs, Object.keys(entry.attributes)].join();
  });
  const other = kinds.findIndex((kind) => kind !== kinds[0]);
  if (other === -1) return;
  const [first, second] = [0, other].map((trace) => {
    const entry = entries[trace];
    const operation = entry === undefined ? 'no further operation' : describeResult(entry.origin);
    return `${operation} for ${samples.describe(trace)}`;
  });
  const counts = [0, other].map((trace) => new Set(all[trace].map(({ origin }) => origin)).size);
  const total = counts[0] === counts[1] ? '' : `, of ${counts[0]} and ${counts[1]} operations`;
  throw cannotBeDynamic(samples, `forward computes ${first}, and ${second}${total}`);
}

/** The attributes of a node that are not equal in all calls. */
export function differingAttributes(nodes: readonly NodeEntry[]): string[] {
  return Object.keys(nodes[0].attributes).filter((name) =>
    nodes.some(({ attributes }) => exactJson(attributes[name]) !== exactJson(nodes[0].attributes[name])),
  );
}

/** The position of the input that an operation returns unchanged for all sizes; undefined if it returns none. */
export function unchangedInput(nodes: readonly Node[]): number | undefined {
  const [{ op }] = nodes;
  const keepsShape = (input: number) =>
    nodes.every(({ inputs, outputs: [{ shape }] }) => isSameSequence(inputs[input].shape, shape));
  if (op === 'Identity') return 0;
  if (['Reshape', 'Expand', 'Pad', 'Slice'].includes(op)) return keepsShape(0) ? 0 : undefined;
  const neutral = { Add: 0, Sub: 0, Mul: 1 }[op as string];
  if (neutral === undefined) return undefined;
  const inputs = op === 'Mul' ? [0, 1] : [0];
  return inputs.find(
    (input) => keepsShape(input) && nodes.every((node) => isNumber(node, 1 - input, neutral)),
  );
}

function isNumber({ inputs }: Node, position: number, number: number): boolean {
  const { node, shape } = inputs[position];
  return isNode(node, 'Constant') && shape.length === 0 && node.attributes.values[0] === number;
}

/** The operation that reads a constant, for messages. */
export function readerOf(entries: readonly Entry[], { of, origin }: ConstantEntry): Node {
  if (origin.inputs.length > 0) return origin;
  return entries.find((entry) => entry.of.inputs.includes(of.outputs[0]))?.origin ?? origin;
}

export function differenceError(
  { samples }: Traces,
  of: Node,
  what: string,
  values: readonly (string | undefined)[],
): ArgumentError {
  // The first call, and some calls with different values.
  const others = [...values.keys()].filter((trace) => values[trace] !== values[0]);
  const cases = [0, ...others.slice(0, 2)]
    .map((trace) => `${values[trace]} for ${samples.describe(trace)}`)
    .join(', ');
  return cannotBeDynamic(
    samples,
    `in ${describeOperation(of)}, ${what} is ${cases}, which matches no supported formula`,
  );
}

/** An error with advice. */
export function cannotBeDynamic(
  { names }: SizeSamples,
  reason: string,
  options?: ErrorOptions,
): ArgumentError {
  if (names.length === 0) {
    const text = `exportOnnx: forward must compute the same in each call: ${reason}. Remove random numbers and state from forward.`;
    return new ArgumentError(text, options);
  }
  const what = names.join(' and the ');
  return new ArgumentError(
    `exportOnnx: the ${what} cannot be dynamic: ${reason}. ` +
      `Make forward independent of the ${what}, or export fixed sizes: inputs: [{ shape, fixed: true }].`,
    options,
  );
}

function describeResult(node: Node): string {
  if (isNode(node, 'Input')) return `no operation on ${describeType(node.outputs[0])}`;
  return `${describeOperation(node)} to ${describeType(node.outputs[0])}`;
}

function describeOperation(node: Node): string {
  const inputs = node.inputs.map(describeType).join(', ');
  return `${node.op}(${inputs})${describeModuleOf(node)}`;
}
