import { BufferTensor } from '../../tensor/buffer-tensor.ts';
import { rewrite } from '../../compiler/rewrite.ts';
import { removeSlopes } from '../../compiler/rewrites/remove-identity.ts';
import { plainOperators } from '../../compiler/rewrites/plain-operators.ts';
import { newArray, type DType } from '../../dtype.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { isNode, type Node, type Value } from '../../graph/node.ts';
import { describeType, inFloat32 } from '../../value-type.ts';
import { tracingSizes } from '../../graph/size-tracing.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { Module } from '../../nn/module.ts';
import { input as inputOf } from '../../ops/source.ts';
import { requireOneOf } from '../../checks/require-one-of.ts';
import { requireOptions, type OptionNames } from '../../checks/require-options.ts';
import { describeValue } from '../../checks/describe-value.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { emitNodes } from '../../onnx-format/emit-nodes.ts';
import { GraphBuilder } from '../../onnx-format/graph-builder.ts';
import { dynamicDimension, writeWithDynamicSizes } from './dynamic-sizes.ts';
import {
  describedShape,
  inputsOf,
  placesOf,
  samplesOf,
  shapeInCall,
  type CompleteInput,
} from './export-inputs.ts';
import type { ExportOptions } from './export-options.ts';
import type { SizeSamples } from './size-samples.ts';
import { QuantizingGraph } from './quantizing-graph.ts';
import { RecordingGraph, type Entry } from './recording-graph.ts';
import { namesKeys } from '../../onnx-format/schema.ts';
import { cannotBeDynamic } from './traces.ts';

/** A module, or a wrapper with a `module`, such as DistributedDataParallel. */
export type Exportable =
  | (Pick<Module, 'namedParameters' | 'namedBuffers' | 'namedModules'> & {
      /** Computes the outputs: a Tensor, an array of Tensors, or an object of Tensors. */
      forward(...inputs: never[]): unknown;
    })
  | {
      /** The module that is exported. */
      readonly module: Exportable;
      /** Not called: the wrapped module's `forward` is. */
      readonly forward: unknown;
    };

/**
 * Exports a model for inference as an ONNX file with opset 20 (torch.onnx.export). Returns the file's bytes.
 *
 * Parameters, and buffers that `forward` reads, become initializers with their current values, named `conv1.weight` etc.
 * `forward` is called in evaluation mode; the modes of all modules are restored afterwards. It must return a Tensor, an
 * array of Tensors, or an object of Tensors.
 *
 * The first dimension of each input is dynamic, named `batch`; `dynamicAxes` makes others dynamic, such as the length of
 * sequences. `forward` is called for several sizes, from 1 on; sizes and numbers that depend on them
 * (`x.view(x.shape[0], 16)`, `1 / (n − 1)`, `Math.ceil(n / 2)`, `arange(x.shape[1])`) are computed in the exported model from
 * the dimensions that the operation reads. They are verified for all of these sizes. If `forward` rejects one of them, other
 * than a multiple of the given batch or one of the three largest lengths, the model is exported for the others. Output
 * dimensions that depend on sizes are `batch` or a formula: `2*batch`.
 *
 * With `quantize: 'int8'`, weights are stored in 8 bits, with a scale for each output channel, row of an embedding or filter.
 * Matrix products (Linear, attention's projections, recurrent layers) and convolutions multiply integers; their activations are
 * quantized at run time over the whole batch, so the outputs of a sample depend slightly on the others.
 *
 * @example
 * await writeFile('model.onnx', exportOnnx(model, { inputShape: [1, 3, 32, 32] }));
 * exportOnnx(ddp, { inputs: [{ name: 'tokens', shape: [1, 128], dtype: 'int64' }, { name: 'mask', shape: [1, 128] }], outputNames: ['logits'] });
 *
 * @param model a module, or a DistributedDataParallel, whose module is exported
 * @throws ArgumentError if `forward` fails for a size other than the given one; if a number depends on sizes in other ways than
 *   by sums of products, floors, bounds and remainders, or if the operations themselves depend on sizes (the message names the
 *   operation); if `forward` reads a tensor that it does not create and that is not an input, parameter or buffer; if names are
 *   not unique; if a weight to be quantized is NaN or infinite. Errors of `forward` for the given shapes are rethrown unchanged
 */
export function exportOnnx(model: Exportable, options: ExportOptions): Uint8Array {
  requireOptions('exportOnnx', options, optionNames);
  if (options.quantize !== undefined) requireOneOf('exportOnnx', 'quantize', options.quantize, ['int8']);
  const module = unwrapped(model);
  const inputs = inputsOf(options);
  const { samples, calls, captured } = tracingSizes(() => callForAllSizes(module, inputs));
  const names = outputNamesOf(options, calls[0].outputs);
  requireOneLayout(samples, calls);

  const state = stateOf(module, calls[0].outputs);
  const graph =
    options.quantize === undefined
      ? new GraphBuilder()
      : new QuantizingGraph(new Set(state.map(({ name }) => name)));
  for (const input of inputs) graph.input(input.name, input.dtype, describedShape(input, inputs, samples));
  for (const { name, data, shape } of state) graph.initializer(name, 'float32', shape, data);
  const namesOf = (kind: boolean) =>
    state.filter(({ isBuffer }) => isBuffer === kind).map(({ name }) => name);
  graph.metadata(namesKeys.parameters, JSON.stringify(namesOf(false)));
  graph.metadata(namesKeys.buffers, JSON.stringify(namesOf(true)));
  requireDifferent([...inputs.map(({ name }) => name), ...names, ...state.map(({ name }) => name)]);
  const entries = calls.map((call) => {
    const leaves = [...call.inputs.map((value, index) => ({ name: inputs[index].name, value })), ...state];
    return tracingSizes(() => record(leaves, call, names, captured));
  });
  writeWithDynamicSizes(graph, { samples, entries }, placesOf(samples, inputs), names);
  for (const [index, name] of names.entries()) {
    graph.output(name, inFloat32(calls[0].outputs[index].value).dtype, shapeOf(samples, calls, index));
  }
  return graph.encode();
}

const optionNames: OptionNames<ExportOptions> = {
  inputShape: true,
  inputName: true,
  inputs: true,
  outputName: true,
  outputNames: true,
  quantize: true,
};

/** A forward call with given input sizes. */
interface Call {
  readonly inputs: readonly Value[];
  readonly outputs: readonly { readonly key: string | undefined; readonly value: Value }[];
}

type ForwardModule = Module & { forward(...inputs: readonly Tensor[]): unknown };

function unwrapped(model: Exportable): ForwardModule {
  let inner: unknown = model;
  while (typeof inner === 'object' && inner !== null && !(inner instanceof Module) && 'module' in inner) {
    inner = inner.module;
  }
  if (inner instanceof Module && 'forward' in inner) return inner as ForwardModule;
  throw new ArgumentError(
    `exportOnnx: expected a Module with a forward method, got ${describeValue(model)}.`,
  );
}

interface Calls {
  readonly samples: SizeSamples;
  readonly calls: readonly Call[];
  /** Tensors that existed before the export. */
  readonly captured: ReadonlySet<Node>;
}

/** Calls `forward` with the given sizes, for which errors are rethrown unchanged, and then with all others. */
function callForAllSizes(module: ForwardModule, inputs: readonly CompleteInput[]): Calls {
  const { samples, isRequired } = samplesOf(inputs);
  const asGiven = () => callForward(module, inputs, ({ shape }) => shape);
  const captured = new Set(topologicalOrder(asGiven().outputs.map(({ value }) => value)));
  const attempts = samples.calls.map((_, call) => {
    try {
      return callForward(module, inputs, (input) => shapeInCall(input, inputs, samples, call));
    } catch (cause) {
      // An error that does not depend on the size would be thrown again.
      asGiven();
      if (!isRequired[call]) return undefined;
      const reason = cause instanceof Error ? cause.message.replace(/\.$/, '') : String(cause);
      throw cannotBeDynamic(samples, `forward fails for ${samples.describe(call)}: ${reason}`, { cause });
    }
  });
  return {
    samples: samples.filter((call) => attempts[call] !== undefined),
    calls: attempts.filter((call) => call !== undefined),
    captured,
  };
}

function callForward(
  module: ForwardModule,
  inputs: readonly CompleteInput[],
  shapeOf: (input: CompleteInput) => readonly number[],
): Call {
  const tensors = inputs.map((input) => {
    // forward is only traced, so the input needs no elements.
    const data = newArray(input.dtype, 0);
    return new Tensor(inputOf(input.dtype, shapeOf(input), { data }));
  });
  const given = inEvaluation(module, () => module.forward(...tensors));
  return { inputs: tensors.map(({ value }) => value), outputs: outputsOf(given) };
}

/** Calls a function with the model in evaluation mode and restores the mode of every module. */
function inEvaluation<T>(model: Module, build: () => T): T {
  const modes = [...model.namedModules()].map(([, module]) => [module, module.training] as const);
  model.eval();
  try {
    return build();
  } finally {
    for (const [module, training] of modes) module.training = training;
  }
}

function outputsOf(given: unknown): Call['outputs'] {
  if (given instanceof Tensor) return [{ key: undefined, value: given.value }];
  const isCollection = typeof given === 'object' && given !== null;
  const entries = isCollection ? Object.entries(given as Record<string, unknown>) : [];
  const outputs = entries.flatMap(([key, tensor]) =>
    tensor instanceof Tensor
      ? [{ key: Array.isArray(given) ? `output_${key}` : key, value: tensor.value }]
      : [],
  );
  if (outputs.length === 0 || outputs.length < entries.length) {
    throw new ArgumentError(
      `exportOnnx: forward must return a Tensor, an array of Tensors or an object of Tensors, got ${describeValue(given)}.`,
    );
  }
  return outputs;
}

function requireOneLayout(samples: SizeSamples, calls: readonly Call[]): void {
  const keys = calls.map(({ outputs }) => outputs.map(({ key }) => key ?? 'a Tensor').join(', '));
  const other = keys.findIndex((names) => names !== keys[0]);
  if (other === -1) return;
  throw new ArgumentError(
    `exportOnnx: forward must return the same outputs for every size, got ${keys[0]} for ${samples.describe(0)} and ${keys[other]} for ${samples.describe(other)}.`,
  );
}

function outputNamesOf({ outputName, outputNames }: ExportOptions, outputs: Call['outputs']): string[] {
  if (outputName !== undefined && outputNames !== undefined) {
    throw new ArgumentError('exportOnnx: expected either outputName or outputNames, got both.');
  }
  const given = outputName === undefined ? outputNames : [outputName];
  if (given !== undefined && given.length !== outputs.length) {
    throw new ArgumentError(
      `exportOnnx: expected ${outputs.length} output names, one for each tensor that forward returns, got ${given.length}: ${given.join(', ')}.`,
    );
  }
  return [...(given ?? outputs.map(({ key }) => key ?? 'output'))];
}

function requireDifferent(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) {
    throw new ArgumentError(
      `exportOnnx: expected unique names of inputs, outputs, parameters and buffers, got '${twice}' twice. Rename the input or output.`,
    );
  }
}

interface State {
  readonly name: string;
  readonly value: Value;
  readonly data: Float32Array;
  readonly shape: readonly number[];
  readonly isBuffer: boolean;
}

/** All parameters, and the buffers that `forward` reads. */
function stateOf(module: Module, outputs: Call['outputs']): State[] {
  const read = new Set(topologicalOrder(outputs.map(({ value }) => value)));
  const buffers = [...module.namedBuffers()].filter(([, { value }]) => read.has(value.node));
  return [...module.namedParameters(), ...buffers].map(([name, tensor]) => {
    const { value, data, shape } = tensor;
    return { name, value, data, shape, isBuffer: tensor instanceof BufferTensor };
  });
}

function record(
  leaves: readonly { readonly name: string; readonly value: Value }[],
  { outputs }: Call,
  names: readonly string[],
  captured: ReadonlySet<Node>,
): readonly Entry[] {
  const known = new Set(leaves.map(({ value }) => value.node));
  const values = outputs.map(({ value }) => value);
  const origins = new Map<Node, Node>();
  const plain = rewrite(values, [removeSlopes, (node) => plainWithOrigins(node, origins)]);
  const graph = new RecordingGraph(origins);
  const created = topologicalOrder(values)
    .filter((node) => isNode(node, 'Input') && !known.has(node))
    .map((node) => ({ name: recordArray(graph, node, captured), value: node.outputs[0] }));
  const results = names.map((name, index) => ({ name, value: plain[index] }));
  // An output may be an input, without an operation.
  graph.begin(values[0].node);
  emitNodes(graph, [...leaves, ...created], results, { begins: graph.begin });
  return graph.entries;
}

/** The standard operators of a node, recorded as parts of it. */
function plainWithOrigins(node: Node, origins: Map<Node, Node>): readonly Value[] | undefined {
  const values = plainOperators(node);
  if (values === undefined) return undefined;
  const read = new Set(node.inputs.map((input) => input.node));
  for (const part of topologicalOrder(values, (one) => !read.has(one))) {
    if (!read.has(part)) origins.set(part, node);
  }
  return values;
}

/** A tensor that forward creates, such as zeros or positions, is a constant; one that existed before may change. */
function recordArray(graph: RecordingGraph, node: Node, captured: ReadonlySet<Node>): string {
  const { dtype, shape } = node.outputs[0];
  const values = isNode(node, 'Input')
    ? Array.from<number | bigint>(node.attributes.source.data).map(Number)
    : [];
  if (captured.has(node) && !isProgression(dtype, shape, values)) {
    throw new ArgumentError(
      `exportOnnx: forward uses a tensor (${describeType(node.outputs[0])}) that is not an input, parameter or buffer of the model. Make it a Parameter or a BufferTensor.`,
    );
  }
  graph.begin(node);
  return graph.constant(dtype, shape, values);
}

/** True for whole numbers at equal distances, as from arange. */
function isProgression(dtype: DType, shape: readonly number[], values: readonly number[]): boolean {
  const [start, next] = values;
  const step = next - start;
  const isOne = values.length > 1 && step !== 0 && values.every((value, k) => value === start + k * step);
  return dtype === 'int64' && shape.length === 1 && isOne;
}

function shapeOf(
  samples: SizeSamples,
  calls: readonly Call[],
  index: number,
): ReturnType<typeof dynamicDimension>[] {
  const shapes = calls.map(({ outputs }) => outputs[index].value.shape);
  return shapes[0].map((_, axis) =>
    dynamicDimension(
      samples,
      shapes.map((shape) => shape[axis]),
    ),
  );
}
