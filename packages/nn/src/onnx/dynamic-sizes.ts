import { describeModuleOf } from '../compiler/anomaly.ts';
import type { DType, Scalar } from '../dtype.ts';
import { ArgumentError } from '../errors.ts';
import { exactJson } from '../graph/exact-json.ts';
import { describeType, isNode, type Node } from '../graph/node.ts';
import { addNode, DimensionSizes, type DimensionPlace } from './dimension-sizes.ts';
import type { SizeFormula, SizeSamples } from './size-formula.ts';
import type { Dimension, GraphBuilder } from './graph-builder.ts';
import type { ConstantEntry, Entry, NodeEntry } from './recording-graph.ts';

/** The graphs recorded for different sizes. */
export interface Traces {
  readonly samples: SizeSamples;
  /** One graph for each call. */
  readonly entries: readonly (readonly Entry[])[];
}

/** A number that is constant, or a formula of the sizes. */
type Term = Scalar | SizeFormula;

/**
 * Merges graphs for different sizes into one with dynamic sizes: numbers that depend on a size are computed from the sizes of
 * inputs.
 *
 * @param places a dimension of an input that has each size
 * @throws ArgumentError that names the operation if the graphs differ in another way
 */
export function writeWithDynamicSizes(
  graph: GraphBuilder,
  traces: Traces,
  places: readonly DimensionPlace[],
): void {
  const [entries] = traces.entries;
  const size = new DimensionSizes(graph, places);
  const names = new Map<string, string>();
  const longest = Math.max(...traces.entries.map((one) => one.length));
  for (let index = 0; index < longest; index += 1) {
    const alternatives = traces.entries.map((one) => one.at(index));
    requireOneKind(traces, alternatives);
    const entry = entries[index];
    if (entry.kind === 'node') {
      const inputs = entry.inputs.map((name) => names.get(name) ?? name);
      graph.node(entry.opType, inputs, entry.outputs, entry.attributes);
    } else {
      const constants = alternatives as ConstantEntry[];
      const opensDimension = isShapeOfReshape(entries, index);
      names.set(entry.name, writeConstant(graph, size, traces, constants, opensDimension));
    }
  }
}

/** A dimension of an output: its size, `batch`, or a formula; undefined if no formula matches. */
export function dynamicDimension(samples: SizeSamples, dimensions: readonly number[]): Dimension {
  if (dimensions.every((dimension) => dimension === dimensions[0])) return dimensions[0];
  const formula = samples.formulaOf(dimensions);
  if (formula === undefined || formula.isReciprocal) return undefined;
  return formula.terms
    .map(({ factor, positions }) => {
      const names = positions.map((position) => samples.names[position]);
      return (factor === 1 && names.length > 0 ? names : [factor, ...names]).join('*');
    })
    .join('+')
    .replaceAll('+-', '-');
}

function requireOneKind(traces: Traces, alternatives: readonly (Entry | undefined)[]): void {
  const kinds = alternatives.map((entry) => {
    if (entry?.kind !== 'node') return entry && `${entry.name}:${entry.dtype}:${entry.shape.length}`;
    return [entry.opType, entry.inputs, entry.outputs, Object.keys(entry.attributes)].join();
  });
  const other = kinds.findIndex((kind) => kind !== kinds[0]);
  if (other !== -1) {
    const [first, second] = [0, other].map((trace) => {
      const entry = alternatives[trace];
      const operation = entry === undefined ? 'no further operation' : describeOperation(entry.of);
      return `${operation} for ${traces.samples.describe(trace)}`;
    });
    throw cannotBeDynamic(traces.samples, `forward computes ${first}, and ${second}`);
  }
  if (alternatives[0]?.kind !== 'node') return;
  for (const name of Object.keys(alternatives[0].attributes)) {
    const values = (alternatives as NodeEntry[]).map(({ attributes }) => exactJson(attributes[name]));
    if (values.some((value) => value !== values[0])) {
      throw differenceError(traces, alternatives[0].of, `${name} of ${alternatives[0].opType}`, values);
    }
  }
}

/** True for the shape input of a Reshape, the only place where −1 stands for a size. */
function isShapeOfReshape(entries: readonly Entry[], index: number): boolean {
  const { name } = entries[index] as ConstantEntry;
  const reader = entries
    .slice(index + 1)
    .find((entry) => entry.kind === 'node' && entry.inputs.includes(name));
  return reader?.kind === 'node' && reader.opType === 'Reshape';
}

function writeConstant(
  graph: GraphBuilder,
  size: DimensionSizes,
  traces: Traces,
  constants: readonly ConstantEntry[],
  opensDimension: boolean,
): string {
  const [{ dtype, shape, values }] = constants;
  const of = readerOf(traces.entries[0], constants[0]);
  const term = (scalars: readonly Scalar[]): Term => {
    if (scalars.every((scalar) => Object.is(scalar, scalars[0]))) return scalars[0];
    // emitReshape may choose another dimension as −1 for another size.
    if (opensDimension && scalars.includes(-1)) return -1;
    const formula = areNumbers(scalars) ? traces.samples.formulaOf(scalars) : undefined;
    if (formula === undefined || !size.canCompute(dtype, formula)) {
      throw differenceError(traces, of, 'a number in it', scalars.map(String));
    }
    return formula;
  };
  const dimensions = shape.map((_, axis) => term(constants.map((constant) => constant.shape[axis])));
  if (dimensions.every(isScalar)) {
    const terms = values.map((_, index) => term(constants.map((constant) => constant.values[index])));
    return writeTerms(graph, size, { dtype, shape, terms });
  }
  const range = shape.length === 1 ? constants.map(({ values }) => progressionOf(values)) : [];
  if (range.length > 0 && range.every((one) => one !== undefined)) {
    const [start, step] = (['start', 'step'] as const).map((name) => term(range.map((one) => one[name])));
    return size.range(dtype, { start, step, count: dimensions[0] });
  }
  // Another array whose size is dynamic is supported only if it repeats one number.
  if (constants.some((constant) => constant.values.some((value) => !Object.is(value, constant.values[0])))) {
    const types = constants.map((constant) => describeType(constant));
    throw differenceError(traces, of, 'an array of numbers in it', types);
  }
  const number = writeTerms(graph, size, {
    dtype,
    shape: [1],
    terms: [term(constants.map((constant) => constant.values[0]))],
  });
  const target = writeTerms(graph, size, { dtype: 'int64', shape: [shape.length], terms: dimensions });
  return addNode(graph, 'Expand', [number, target]);
}

/** The operation that reads a constant, for messages. */
function readerOf(entries: readonly Entry[], { of }: ConstantEntry): Node {
  if (!isNode(of, 'Constant') && !isNode(of, 'Number')) return of;
  return entries.find((entry) => entry.of.inputs.includes(of.outputs[0]))?.of ?? of;
}

function writeTerms(
  graph: GraphBuilder,
  size: DimensionSizes,
  { dtype, shape, terms }: { dtype: DType; shape: readonly number[]; terms: readonly Term[] },
): string {
  if (terms.every(isScalar)) return graph.constant(dtype, shape, terms);
  const parts = terms.map((term) =>
    isScalar(term) ? graph.constant(dtype, [1], [term]) : size.compute(dtype, term),
  );
  const flat = parts.length === 1 ? parts[0] : addNode(graph, 'Concat', parts, { axis: 0 });
  if (shape.length === 1) return flat;
  return addNode(graph, 'Reshape', [flat, graph.constant('int64', [shape.length], shape)]);
}

function differenceError(
  { samples }: Traces,
  of: Node,
  what: string,
  values: readonly (string | undefined)[],
): ArgumentError {
  const cases = values.map((value, trace) => `${value} for ${samples.describe(trace)}`).join(', ');
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
  const what = names.join(' and the ');
  return new ArgumentError(
    `exportOnnx: the ${what} cannot be dynamic: ${reason}. ` +
      `Make forward independent of the ${what}, or export fixed sizes: inputs: [{ shape, fixed: true }].`,
    options,
  );
}

/** Start and step of numbers at equal distances, as of arange; undefined for others. */
export function progressionOf(values: readonly Scalar[]): { start: number; step: number } | undefined {
  if (!areNumbers(values)) return undefined;
  const [start, next] = values;
  const step = next - start;
  const isOne = values.length > 1 && step !== 0 && values.every((value, k) => value === start + k * step);
  return isOne ? { start, step } : undefined;
}

/** False if there is a bigint, which no formula of sizes gives. */
function areNumbers(scalars: readonly Scalar[]): scalars is readonly number[] {
  return scalars.every((scalar) => typeof scalar === 'number');
}

function isScalar(term: Term): term is Scalar {
  return typeof term !== 'object';
}

function describeOperation(node: Node): string {
  const inputs = node.inputs.map(describeType).join(', ');
  return `${node.op}(${inputs})${describeModuleOf(node)}`;
}
