import { describeModuleOf } from '../compiler/anomaly.ts';
import type { DType } from '../dtype.ts';
import { ArgumentError } from '../errors.ts';
import { exactJson } from '../graph/exact-json.ts';
import { describeType, isNode, type Node } from '../graph/node.ts';
import { asFraction, formulaOf, type BatchFormula } from './batch-formula.ts';
import type { Dimension, GraphBuilder } from './graph-builder.ts';
import type { ConstantEntry, Entry, NodeEntry } from './recording-graph.ts';
import { dataTypeCode } from './schema.ts';

/** The graph recorded for one batch size. */
export interface Trace {
  readonly size: number;
  readonly entries: readonly Entry[];
}

/** A number that is constant, or a formula of the batch size. */
type Term = number | BatchFormula;

/**
 * Merges the traces of several batch sizes into one graph with a dynamic batch: numbers that depend on the batch size are
 * computed from the size of an input.
 *
 * @param input the input whose first dimension is the batch; undefined if there is only one trace
 * @throws ArgumentError that names the operation if the traces differ in another way
 */
export function writeWithDynamicBatch(
  graph: GraphBuilder,
  traces: readonly Trace[],
  input: string | undefined,
): void {
  const [{ entries }] = traces;
  const size = new BatchSize(graph, input);
  const names = new Map<string, string>();
  const longest = Math.max(...traces.map((trace) => trace.entries.length));
  for (let index = 0; index < longest; index += 1) {
    const alternatives = traces.map((trace) => trace.entries.at(index));
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
export function dynamicDimension(sizes: readonly number[], dimensions: readonly number[]): Dimension {
  if (dimensions.every((dimension) => dimension === dimensions[0])) return dimensions[0];
  const formula = formulaOf(sizes, dimensions);
  if (formula === undefined || formula.isReciprocal) return undefined;
  const { factor, offset } = formula;
  const product = factor === 1 ? 'batch' : `${factor}*batch`;
  return offset === 0 ? product : `${product}${offset > 0 ? '+' : ''}${offset}`;
}

function requireOneKind(traces: readonly Trace[], alternatives: readonly (Entry | undefined)[]): void {
  const kinds = alternatives.map((entry) => {
    if (entry?.kind !== 'node') return entry && `${entry.name}:${entry.dtype}:${entry.shape.length}`;
    return [entry.opType, entry.inputs, entry.outputs, Object.keys(entry.attributes)].join();
  });
  const other = kinds.findIndex((kind) => kind !== kinds[0]);
  if (other !== -1) {
    const [first, second] = [0, other].map((trace) => {
      const entry = alternatives[trace];
      const operation = entry === undefined ? 'no further operation' : describeOperation(entry.of);
      return `${operation} for a batch of ${traces[trace].size}`;
    });
    throw cannotBeDynamic(`forward computes ${first}, and ${second}`);
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
  size: BatchSize,
  traces: readonly Trace[],
  constants: readonly ConstantEntry[],
  opensDimension: boolean,
): string {
  const [{ dtype, shape, values }] = constants;
  const of = readerOf(traces[0].entries, constants[0]);
  const sizes = traces.map((trace) => trace.size);
  const term = (numbers: readonly number[]): Term => {
    if (numbers.every((number) => Object.is(number, numbers[0]))) return numbers[0];
    // emitReshape may choose another dimension as −1 for another size.
    if (opensDimension && numbers.includes(-1)) return -1;
    const formula = formulaOf(sizes, numbers);
    if (formula === undefined || !size.canCompute(dtype, formula)) {
      throw differenceError(traces, of, 'a number in it', numbers.map(String));
    }
    return formula;
  };
  const dimensions = shape.map((_, axis) => term(constants.map((constant) => constant.shape[axis])));
  if (dimensions.every((dimension) => typeof dimension === 'number')) {
    const terms = values.map((_, index) => term(constants.map((constant) => constant.values[index])));
    return writeTerms(graph, size, { dtype, shape, terms });
  }
  // An array whose size depends on the batch is supported only if it repeats one number.
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
  size: BatchSize,
  { dtype, shape, terms }: { dtype: DType; shape: readonly number[]; terms: readonly Term[] },
): string {
  if (terms.every((term) => typeof term === 'number')) return graph.constant(dtype, shape, terms);
  const parts = terms.map((term) =>
    typeof term === 'number' ? graph.constant(dtype, [1], [term]) : size.compute(dtype, term),
  );
  const flat = parts.length === 1 ? parts[0] : addNode(graph, 'Concat', parts, { axis: 0 });
  if (shape.length === 1) return flat;
  return addNode(graph, 'Reshape', [flat, graph.constant('int64', [shape.length], shape)]);
}

/** Computes numbers from the batch size when the graph runs, as arrays of one element. */
class BatchSize {
  readonly #graph: GraphBuilder;
  readonly #input: string | undefined;
  readonly #computed = new Map<string, string>();

  constructor(graph: GraphBuilder, input: string | undefined) {
    this.#graph = graph;
    this.#input = input;
  }

  /** True if the formula is exact: integer formulas need a fraction of small integers. */
  canCompute(dtype: DType, { factor, offset, isReciprocal }: BatchFormula): boolean {
    if (dtype === 'float32') return true;
    return dtype === 'int64' && !isReciprocal && Number.isInteger(offset) && asFraction(factor) !== undefined;
  }

  compute(dtype: DType, formula: BatchFormula): string {
    return this.#once(`${dtype} ${exactJson(formula)}`, () =>
      dtype === 'int64' ? this.#integer(formula) : this.#float(formula),
    );
  }

  #integer({ factor, offset }: BatchFormula): string {
    const { numerator, denominator } = asFraction(factor)!;
    const product = this.#apply('int64', 'Mul', this.#size(), numerator, 1);
    const quotient = this.#apply('int64', 'Div', product, denominator, 1);
    return this.#apply('int64', 'Add', quotient, offset, 0);
  }

  #float({ factor, offset, isReciprocal }: BatchFormula): string {
    const size = this.#once('float', () =>
      addNode(this.#graph, 'Cast', [this.#size()], { to: dataTypeCode.float32 }),
    );
    const constant = (number: number) => this.#graph.constant('float32', [1], [number]);
    // c / n as one division, so that it rounds like the original number.
    if (isReciprocal && offset === 0) return addNode(this.#graph, 'Div', [constant(1 / factor), size]);
    const line = this.#apply('float32', 'Add', this.#apply('float32', 'Mul', size, factor, 1), offset, 0);
    return isReciprocal ? addNode(this.#graph, 'Div', [constant(1), line]) : line;
  }

  #apply(dtype: DType, op: string, to: string, number: number, neutral: number): string {
    if (number === neutral) return to;
    return addNode(this.#graph, op, [to, this.#graph.constant(dtype, [1], [number])]);
  }

  #size(): string {
    return this.#once('size', () => addNode(this.#graph, 'Shape', [this.#input!], { start: 0, end: 1 }));
  }

  #once(key: string, write: () => string): string {
    const known = this.#computed.get(key) ?? write();
    this.#computed.set(key, known);
    return known;
  }
}

/** Adds a node and returns its output, with a fresh name. */
function addNode(
  graph: GraphBuilder,
  op: string,
  inputs: readonly string[],
  attributes: Parameters<GraphBuilder['node']>[3] = {},
): string {
  const name = graph.freshName('batch');
  graph.node(op, inputs, [name], attributes);
  return name;
}

function differenceError(
  traces: readonly Trace[],
  of: Node,
  what: string,
  values: readonly (string | undefined)[],
): ArgumentError {
  const cases = values.map((value, trace) => `${value} for a batch of ${traces[trace].size}`).join(', ');
  return cannotBeDynamic(
    `in ${describeOperation(of)}, ${what} is ${cases}, which matches no supported formula`,
  );
}

function cannotBeDynamic(reason: string): ArgumentError {
  return new ArgumentError(
    `exportOnnx: the batch cannot be dynamic: ${reason}. ` +
      'Make forward independent of the batch size, or export one batch size: inputs: [{ shape, fixed: true }].',
  );
}

function describeOperation(node: Node): string {
  const inputs = node.inputs.map(describeType).join(', ');
  return `${node.op}(${inputs})${describeModuleOf(node)}`;
}
