import { BufferTensor } from '../buffer-tensor.ts';
import { emitNodes } from '../compiler/emit.ts';
import { rewrite } from '../compiler/rewrite.ts';
import { plainOperators } from '../compiler/rewrites/plain-operators.ts';
import { newArray } from '../dtype.ts';
import { ArgumentError } from '../errors.ts';
import { describeType, isNode, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { Module } from '../nn/module.ts';
import { input as inputOf } from '../ops/source.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';
import { describeValue } from '../stored-tensor.ts';
import { Tensor } from '../tensor.ts';
import { GraphBuilder } from './graph-builder.ts';
import { dynamicDimension, writeWithDynamicBatch, type Trace } from './dynamic-batch.ts';
import { RecordingGraph } from './recording-graph.ts';
import { namesKeys } from './schema.ts';

/** An input of the exported model. */
export interface ExportInput {
  /** Name in the exported model. Default: `input`, or `input_0`, `input_1`, … if there are several. */
  name?: string;
  /** The first dimension is the batch. `forward` must accept this batch size and multiples of it. */
  shape: readonly number[];
  /** Default: 'float32'. */
  dtype?: 'float32' | 'int64';
  /** If true, this input keeps its exact shape: a mask without a batch, or a model that needs a fixed batch. Default: false. */
  fixed?: boolean;
}

/** Either `inputShape` or `inputs` is required. */
export interface ExportOptions {
  /** Shape of the only input, which is float32; the first dimension is the batch. */
  inputShape?: readonly number[];
  /** Name of the only input. Default: 'input'. */
  inputName?: string;
  /** The arguments of `forward`, in their order. */
  inputs?: readonly ExportInput[];
  /** Name of the only output. Default: 'output'. */
  outputName?: string;
  /** Names of the outputs, in `forward`'s order. Default: the keys of an object, or `output_0`, … for an array. */
  outputNames?: readonly string[];
}

/** A module, or a wrapper with a `module`, such as DistributedDataParallel. */
export type Exportable =
  | (Module & {
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
 * The first dimension of each input is dynamic, named `batch`. `forward` is called with three batch sizes; sizes and
 * numbers that depend on the batch (`x.view(x.shape[0], 16)`, `.div(x.shape[0])`, `1 / (n − 1)`) are computed from the
 * input's size in the exported model. Output dimensions that depend on the batch are `batch` or a formula: `2*batch`.
 *
 * @example
 * await writeFile('model.onnx', exportOnnx(model, { inputShape: [1, 3, 32, 32] }));
 * exportOnnx(ddp, { inputs: [{ name: 'tokens', shape: [1, 128], dtype: 'int64' }, { name: 'mask', shape: [1, 128] }], outputNames: ['logits'] });
 *
 * @param model a module, or a DistributedDataParallel, whose module is exported
 * @throws ArgumentError if `forward` fails for a batch size; if a number depends on the batch size n other than by
 *   n·factor + offset or its reciprocal (the message names the operation); if `forward` reads a tensor that is not an
 *   input, parameter or buffer; if names are not unique
 */
export function exportOnnx(model: Exportable, options: ExportOptions): Uint8Array {
  requireOptions('exportOnnx', options, optionNames);
  const module = unwrapped(model);
  const inputs = inputsOf(options);
  const open = inputs.find(({ fixed }) => !fixed);
  const calls = (open ? multiples : [1]).map((multiple) => callForward(module, inputs, multiple));
  const names = outputNamesOf(options, calls[0].outputs);
  requireOneLayout(calls);

  const graph = new GraphBuilder();
  for (const { name, dtype, shape, fixed } of inputs) {
    const size = dynamicDimension(sizesOf(calls), multiplesOf(shape[0], calls, fixed));
    graph.input(name, dtype, fixed ? shape : [size, ...shape.slice(1)]);
  }
  const state = stateOf(module, calls[0].outputs);
  for (const { name, data, shape } of state) graph.initializer(name, 'float32', shape, data);
  const namesOf = (kind: boolean) =>
    state.filter(({ isBuffer }) => isBuffer === kind).map(({ name }) => name);
  graph.metadata(namesKeys.parameters, JSON.stringify(namesOf(false)));
  graph.metadata(namesKeys.buffers, JSON.stringify(namesOf(true)));
  requireDifferent([...inputs.map(({ name }) => name), ...names, ...state.map(({ name }) => name)]);
  const traces = calls.map((call): Trace => {
    const leaves = [...call.inputs.map((value, index) => ({ name: inputs[index].name, value })), ...state];
    return { size: call.size, entries: record(leaves, call, names) };
  });
  writeWithDynamicBatch(graph, traces, open?.name);
  for (const [index, name] of names.entries()) {
    graph.output(name, calls[0].outputs[index].value.dtype, shapeOf(calls, index));
  }
  return graph.encode();
}

const optionNames: OptionNames<ExportOptions> = {
  inputShape: true,
  inputName: true,
  inputs: true,
  outputName: true,
  outputNames: true,
};

const inputOptionNames: OptionNames<ExportInput> = { name: true, shape: true, dtype: true, fixed: true };

/** Multiples of the given batch size: large primes, so that a batch-dependent size does not equal another by chance. */
const multiples = [97, 101, 103];

/** A forward call with inputs of one batch size. */
interface Call {
  /** Batch size: first dimension of the first input that is not fixed. */
  readonly size: number;
  readonly inputs: readonly Value[];
  readonly outputs: readonly { readonly key: string | undefined; readonly value: Value }[];
}

type ForwardModule = Module & { forward(...inputs: readonly Tensor[]): unknown };
type CompleteInput = Required<ExportInput>;

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

function inputsOf({ inputShape, inputName, inputs }: ExportOptions): CompleteInput[] {
  if ((inputShape === undefined) === (inputs === undefined) || inputs?.length === 0) {
    throw new ArgumentError(
      'exportOnnx: expected either inputShape (one float32 input) or inputs, a list of { name, shape, dtype }.',
    );
  }
  if (inputs !== undefined && inputName !== undefined) {
    throw new ArgumentError(
      'exportOnnx: inputName requires inputShape. With inputs, write inputs: [{ name, … }].',
    );
  }
  const given: readonly ExportInput[] = inputs ?? [
    { shape: inputShape!, ...(inputName !== undefined && { name: inputName }) },
  ];
  return given.map((input, index) => {
    requireOptions(`exportOnnx: inputs[${index}]`, input, inputOptionNames);
    const { name = given.length === 1 ? 'input' : `input_${index}`, shape, dtype = 'float32' } = input;
    const fixed = input.fixed ?? shape.length === 0;
    const valid = Array.isArray(shape) && shape.every((size) => Number.isInteger(size) && size >= 1);
    if (!valid || (!fixed && shape.length === 0)) {
      throw new ArgumentError(
        `exportOnnx: the shape of ${name} must be a list of sizes of at least 1, got ${JSON.stringify(shape)}.`,
      );
    }
    if (!['float32', 'int64'].includes(dtype)) {
      throw new ArgumentError(
        `exportOnnx: the dtype of ${name} must be 'float32' or 'int64', got '${dtype}'.`,
      );
    }
    return { name, shape, dtype, fixed };
  });
}

function callForward(module: ForwardModule, inputs: readonly CompleteInput[], multiple: number): Call {
  const tensors = inputs.map(({ dtype, shape, fixed }) => {
    const [batch = 1, ...rest] = shape;
    const whole = fixed ? shape : [batch * multiple, ...rest];
    // forward is only traced, so the input needs no elements.
    return new Tensor(inputOf(dtype, whole, { data: newArray(dtype, 0) }));
  });
  const first = inputs.findIndex(({ fixed }) => !fixed);
  const size = first === -1 ? 1 : tensors[first].shape[0];
  let given: unknown;
  try {
    given = inEvaluation(module, () => module.forward(...tensors));
  } catch (cause) {
    if (first === -1) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ArgumentError(
      `exportOnnx: the batch cannot be dynamic: forward fails for a batch of ${size}: ${reason} ` +
        'Use a shape whose multiples forward accepts, or export one batch size: inputs: [{ shape, fixed: true }].',
      { cause },
    );
  }
  return { size, inputs: tensors.map(({ value }) => value), outputs: outputsOf(given) };
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

function requireOneLayout(calls: readonly Call[]): void {
  const keys = calls.map(({ outputs }) => outputs.map(({ key }) => key ?? 'a Tensor').join(', '));
  const other = keys.findIndex((names) => names !== keys[0]);
  if (other === -1) return;
  throw new ArgumentError(
    `exportOnnx: forward must return the same outputs for every batch, got ${keys[0]} for a batch of ${calls[0].size} and ${keys[other]} for ${calls[other].size}.`,
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
): Trace['entries'] {
  const known = new Set(leaves.map(({ value }) => value.node));
  for (const node of topologicalOrder(outputs.map(({ value }) => value))) {
    if (isNode(node, 'Input') && !known.has(node)) {
      throw new ArgumentError(
        `exportOnnx: forward uses a tensor (${describeType(node.outputs[0])}) that is not an input, parameter or buffer of the model. Make it a Parameter or a BufferTensor.`,
      );
    }
  }
  const graph = new RecordingGraph();
  const plain = rewrite(
    outputs.map(({ value }) => value),
    [plainOperators],
  );
  const results = names.map((name, index) => ({ name, value: plain[index] }));
  emitNodes(graph, leaves, results, { begins: graph.begin });
  return graph.entries;
}

function sizesOf(calls: readonly Call[]): number[] {
  return calls.map(({ size }) => size);
}

/** The first dimension of an input in each call. */
function multiplesOf(size: number, calls: readonly Call[], fixed: boolean): number[] {
  return calls.map((_, call) => (fixed ? size : size * multiples[call]));
}

function shapeOf(calls: readonly Call[], index: number): ReturnType<typeof dynamicDimension>[] {
  const shapes = calls.map(({ outputs }) => outputs[index].value.shape);
  return shapes[0].map((_, axis) =>
    dynamicDimension(
      sizesOf(calls),
      shapes.map((shape) => shape[axis]),
    ),
  );
}
