import { ArgumentError } from '../errors/errors.ts';
import { describeValue } from '../checks/describe-value.ts';
import { defaultGenerator } from '../random/generator.ts';
import { BufferTensor } from '../tensor/buffer-tensor.ts';
import { zeros } from '../tensor/creation.ts';
import { noGrad } from '../tensor/no-grad.ts';
import { Parameter } from '../tensor/parameter.ts';
import { Tensor } from '../tensor/tensor.ts';
import { attributesOf } from './attributes.ts';
import { Module } from './module.ts';

/** A module in a {@link ModelSummary}. */
export interface LayerSummary {
  /** Path of the module: `encoder.0`; '' for the model. */
  readonly name: string;
  /** Name of its class. */
  readonly type: string;
  /** Shape of the first tensor that its first forward returned. Undefined if forward was not called. */
  readonly outputShape: readonly number[] | undefined;
  /** Number of elements of its own parameters, without those of its submodules. A shared parameter counts once. */
  readonly parameters: number;
  /** Number of those that are trained: their parameters require gradients. */
  readonly trainable: number;
}

/** The modules of a model. `String(summary)` and `console.log` print a table. */
export class ModelSummary {
  /** The model, then its submodules in the order of `namedModules`. */
  readonly layers: readonly LayerSummary[];
  /** Number of elements of all parameters. */
  readonly parameters: number;
  /** Number of those that are trained. */
  readonly trainable: number;
  /** Size of parameters and buffers in MB, 10⁶ bytes. */
  readonly sizeMB: number;

  /** @internal */
  constructor(layers: readonly LayerSummary[], bytes: number) {
    this.layers = layers;
    this.parameters = layers.reduce((sum, { parameters }) => sum + parameters, 0);
    this.trainable = layers.reduce((sum, { trainable }) => sum + trainable, 0);
    this.sizeMB = bytes / 1e6;
  }

  /** The table: a line for each module, and the totals. */
  toString(): string {
    const rows = this.layers.map(({ name, type, outputShape, parameters, trainable }) => {
      const depth = name === '' ? 0 : name.split('.').length;
      const path = name === '' ? type : `${name.slice(name.lastIndexOf('.') + 1)}: ${type}`;
      const shape = outputShape ? `[${outputShape.join(', ')}]` : '-';
      return [`${'  '.repeat(depth)}${path}`, shape, grouped(parameters), grouped(trainable)];
    });
    const table = [['Layer', 'Output shape', 'Parameters', 'Trainable'], ...rows];
    const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
    const lines = table.map(([path, shape, ...numbers]) =>
      [
        path.padEnd(widths[0]),
        shape.padEnd(widths[1]),
        ...numbers.map((number, i) => number.padStart(widths[i + 2])),
      ].join('  '),
    );
    const rule = '-'.repeat(lines[0].length);
    return [
      lines[0],
      rule,
      ...lines.slice(1),
      rule,
      `Parameters: ${grouped(this.parameters)}`,
      `Trainable parameters: ${grouped(this.trainable)}`,
      `Size of parameters and buffers: ${this.sizeMB.toFixed(2)} MB`,
    ].join('\n');
  }

  /** The text of `toString`. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return this.toString();
  }
}

/**
 * Lists the modules of a model with their output shapes and parameters (as the Python package torchinfo does):
 * `console.log(String(summary(model, [1, 3, 224, 224])))`. Shapes are found by one `forward` in evaluation mode, of which nothing is
 * computed. The model, its modes and its hooks stay as they are, and no random numbers are drawn.
 *
 * @param inputs for each input of `forward` its shape, for a float32 tensor, or a tensor, such as int64 indices of an Embedding.
 *   None: output shapes are undefined.
 * @throws ArgumentError for another model or input; the errors of `forward`, such as ShapeError
 */
export function summary(model: Module, ...inputs: readonly (readonly number[] | Tensor)[]): ModelSummary {
  if (!(model instanceof Module)) {
    throw new ArgumentError(`summary: expected a Module, got ${describeValue(model)}.`);
  }
  const shapes = inputs.length === 0 ? new Map<Module, readonly number[]>() : shapesIn(model, inputs);
  const seen = new Set<unknown>();
  let bytes = 0;
  const layers = model.namedModules().map(([name, module]): LayerSummary => {
    let [parameters, trainable] = [0, 0];
    for (const [, value] of attributesOf(module)) {
      if (seen.has(value) || !(value instanceof Parameter || value instanceof BufferTensor)) continue;
      seen.add(value);
      const size = value.numel();
      bytes += 4 * size;
      if (!(value instanceof Parameter)) continue;
      parameters += size;
      if (value.requiresGrad) trainable += size;
    }
    const { name: type } = module.constructor;
    return { name, type, outputShape: shapes.get(module), parameters, trainable };
  });
  return new ModelSummary(layers, bytes);
}

/** The shape of each module's first output. */
function shapesIn(
  model: Module,
  inputs: readonly (readonly number[] | Tensor)[],
): Map<Module, readonly number[]> {
  const given = inputs.map((one, index) => (one instanceof Tensor ? one : zerosOf(one, index)));
  const shapes = new Map<Module, readonly number[]>();
  const modules = model.modules();
  const modes = modules.map(({ training }) => training);
  const handles = modules
    .filter((module) => 'forward' in module)
    .map((module) =>
      module.registerForwardHook((_, __, output) => {
        const first = firstTensor(output);
        if (first && !shapes.has(module)) shapes.set(module, first.shape);
      }),
    );
  const random = defaultGenerator.stateDict();
  try {
    for (const module of modules) module.training = false;
    noGrad(() => (model as unknown as { forward(...inputs: Tensor[]): unknown }).forward(...given));
  } finally {
    for (const [index, module] of modules.entries()) module.training = modes[index];
    for (const handle of handles) handle.remove();
    defaultGenerator.loadStateDict(random);
  }
  return shapes;
}

function zerosOf(shape: unknown, index: number): Tensor {
  if (Array.isArray(shape) && shape.every((size) => Number.isInteger(size) && size >= 0)) {
    return zeros(shape as number[]);
  }
  throw new ArgumentError(
    `summary: expected a shape or a tensor as input ${index}, got ${describeValue(shape)}. Write summary(model, [1, 3, 32, 32]).`,
  );
}

/** The first tensor of an output: itself, or that of a list or an object. */
function firstTensor(output: unknown): Tensor | undefined {
  if (output instanceof Tensor) return output;
  if (typeof output !== 'object' || output === null) return undefined;
  for (const part of Object.values(output)) {
    const found = firstTensor(part);
    if (found) return found;
  }
  return undefined;
}

/** With separators of thousands: 1,234. */
function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
