import { emitNodes } from '../compiler/emit.ts';
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
import { openDimension, writeWithOpenBatch, type Trace } from './open-batch.ts';
import { RecordingGraph } from './recording.ts';

/** An input of the exported model. */
export interface ExportInput {
  /** Name in the exported model. Default: `input`, or `input_0`, `input_1`, … if there are several. */
  name?: string;
  /** The first dimension is the batch; its size is one that `forward` takes, and so are multiples of it. */
  shape: readonly number[];
  /** Default: 'float32'. */
  dtype?: 'float32' | 'int64';
  /** Whether the exported model takes this shape alone, as of a mask that has no batch, or of a model whose batch cannot be left open. Default: `false`. */
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
  /** Names of the outputs, in the order in which `forward` gives them. Default: the keys of an object, or `output_0`, `output_1`, … for an array. */
  outputNames?: readonly string[];
}

/** A module, or a DistributedDataParallel (or the like) whose `module` is one. */
export type Exportable =
  | (Module & { forward(...inputs: never[]): unknown })
  | { readonly module: Exportable; readonly forward: unknown };

/**
 * The model for inference, as the bytes of an ONNX file of operator set 20 (torch.onnx.export).
 *
 * The file has the parameters, and the buffers that `forward` reads, as initializers under their names (`conv1.weight`), with their elements at the time of the call. `forward` is called
 * in evaluation mode, and each part of the model is left in the mode that it was in. It returns a Tensor, an array of Tensors or an object of Tensors by name.
 *
 * The first dimension of each input is open, as the dimension `batch`: `forward` is called three times, with batches of three sizes, and sizes and numbers that follow from the batch
 * (`x.view(x.shape[0], 16)`, `.div(x.shape[0])`, `1 / (n − 1)`) are computed from the input's size in the exported model. A dimension of an output that follows from the batch is `batch` or a formula
 * such as `2*batch`.
 *
 * @example
 * await writeFile('model.onnx', exportOnnx(model, { inputShape: [1, 3, 32, 32] }));
 * exportOnnx(ddp, { inputs: [{ name: 'tokens', shape: [1, 128], dtype: 'int64' }, { name: 'mask', shape: [1, 128] }], outputNames: ['logits'] });
 *
 * @param model a module, or a DistributedDataParallel, whose module is exported
 * @throws ArgumentError if `forward` fails for a batch; if it computes something that does not follow from the batch by a formula n·factor + offset or one divided by that, naming the
 * operation; if it reads a tensor that is neither an input nor a parameter or buffer of the model; if names clash
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
    const size = openDimension(sizesOf(calls), multiplesOf(shape[0], calls, fixed));
    graph.input(name, dtype, fixed ? shape : [size, ...shape.slice(1)]);
  }
  const state = stateOf(module, calls[0].outputs);
  for (const { name, data, shape } of state) graph.initializer(name, 'float32', shape, data);
  requireDifferent([...inputs.map(({ name }) => name), ...names, ...state.map(({ name }) => name)]);
  const traces = calls.map((call): Trace => {
    const leaves = [...call.inputs.map((value, place) => ({ name: inputs[place].name, value })), ...state];
    return { size: call.size, entries: record(leaves, call, names) };
  });
  writeWithOpenBatch(graph, traces, open?.name);
  for (const [place, name] of names.entries()) {
    graph.output(name, calls[0].outputs[place].value.dtype, shapeOf(calls, place));
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

/** Of the given batch. Primes above the sizes that models have, so that a size that follows from the batch is equal to no other by chance. */
const multiples = [97, 101, 103];

/** A forward call with inputs of one batch size. */
interface Call {
  /** First dimension of the first input that is open. */
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
  throw new ArgumentError(`exportOnnx: takes a Module with a forward method, given ${describeValue(model)}.`);
}

function inputsOf({ inputShape, inputName, inputs }: ExportOptions): CompleteInput[] {
  if ((inputShape === undefined) === (inputs === undefined) || inputs?.length === 0) {
    throw new ArgumentError(
      'exportOnnx: takes either inputShape, for one float32 input, or inputs, a list of { name, shape, dtype }.',
    );
  }
  if (inputs !== undefined && inputName !== undefined) {
    throw new ArgumentError('exportOnnx: inputName goes with inputShape; write inputs: [{ name, … }].');
  }
  const given: readonly ExportInput[] = inputs ?? [
    { shape: inputShape!, ...(inputName !== undefined && { name: inputName }) },
  ];
  return given.map((input, place) => {
    requireOptions(`exportOnnx: inputs[${place}]`, input, inputOptionNames);
    const { name = given.length === 1 ? 'input' : `input_${place}`, shape, dtype = 'float32' } = input;
    const fixed = input.fixed ?? shape.length === 0;
    const valid = Array.isArray(shape) && shape.every((size) => Number.isInteger(size) && size >= 1);
    if (!valid || (!fixed && shape.length === 0)) {
      throw new ArgumentError(
        `exportOnnx: the shape of ${name} must be a list of sizes of at least 1, given ${JSON.stringify(shape)}.`,
      );
    }
    if (!['float32', 'int64'].includes(dtype)) {
      throw new ArgumentError(
        `exportOnnx: the dtype of ${name} must be 'float32' or 'int64', given '${dtype}'.`,
      );
    }
    return { name, shape, dtype, fixed };
  });
}

function callForward(module: ForwardModule, inputs: readonly CompleteInput[], multiple: number): Call {
  const tensors = inputs.map(({ dtype, shape, fixed }) => {
    const [batch = 1, ...rest] = shape;
    const whole = fixed ? shape : [batch * multiple, ...rest];
    // Nothing is computed, so there are no elements.
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
      `exportOnnx: the batch cannot be left open: forward fails for a batch of ${size}: ${reason} ` +
        'Give a shape whose multiples forward takes, or export it for one size: inputs: [{ shape, fixed: true }].',
      { cause },
    );
  }
  return { size, inputs: tensors.map(({ value }) => value), outputs: outputsOf(given) };
}

/** Calls a function with every part of the model in evaluation mode, and leaves each as it was. */
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
    throw new ArgumentError('exportOnnx: takes either outputName or outputNames.');
  }
  const given = outputName === undefined ? outputNames : [outputName];
  if (given !== undefined && given.length !== outputs.length) {
    throw new ArgumentError(
      `exportOnnx: forward returns ${outputs.length} tensors, given ${given.length} names: ${given.join(', ')}.`,
    );
  }
  return [...(given ?? outputs.map(({ key }) => key ?? 'output'))];
}

function requireDifferent(names: readonly string[]): void {
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) {
    throw new ArgumentError(
      `exportOnnx: two of the inputs, outputs, parameters and buffers have the name '${twice}'; give the inputs and outputs other names.`,
    );
  }
}

interface State {
  readonly name: string;
  readonly value: Value;
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** All parameters, and the buffers that are read. */
function stateOf(module: Module, outputs: Call['outputs']): State[] {
  const read = new Set(topologicalOrder(outputs.map(({ value }) => value)));
  const buffers = [...module.namedBuffers()].filter(([, { value }]) => read.has(value.node));
  return [...module.namedParameters(), ...buffers].map(([name, { value, data, shape }]) => {
    return { name, value, data, shape };
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
        `exportOnnx: forward uses a tensor (${describeType(node.outputs[0])}) that is neither an input nor a parameter or buffer of the model; make it a Parameter or a BufferTensor.`,
      );
    }
  }
  const graph = new RecordingGraph();
  const results = names.map((name, place) => ({ name, value: outputs[place].value }));
  emitNodes(graph, leaves, results, graph.begin);
  return graph.entries;
}

function sizesOf(calls: readonly Call[]): number[] {
  return calls.map(({ size }) => size);
}

/** The first dimension of an input in each call. */
function multiplesOf(size: number, calls: readonly Call[], fixed: boolean): number[] {
  return calls.map((_, call) => (fixed ? size : size * multiples[call]));
}

function shapeOf(calls: readonly Call[], place: number): ReturnType<typeof openDimension>[] {
  const shapes = calls.map(({ outputs }) => outputs[place].value.shape);
  return shapes[0].map((_, axis) =>
    openDimension(
      sizesOf(calls),
      shapes.map((shape) => shape[axis]),
    ),
  );
}
