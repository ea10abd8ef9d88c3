import {
  invalidateRecordedCalls,
  warnOfUnaveragedGradient,
  type DistributedParameter,
  type GradientRows,
  type GradientSink,
} from '@ringrun/core';
import type { Device } from '../executor/device.ts';
import { ManagedBuffer } from '../executor/managed-buffer.ts';
import type { ValueBuffer } from '../executor/value-buffer.ts';
import type { ValueMemory } from '../executor/value-memory.ts';
import type { GradientReceiver, Source } from '../graph/source.ts';
import { recordChange, type Change } from '../graph/changes.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { input } from '../ops/source.ts';
import { requireLength } from '../checks/require-length.ts';
import { describeValue } from '../checks/describe-value.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';
import { noGrad } from './no-grad.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { Tensor } from './tensor.ts';
import { mergedRows, type PackedRows } from '../sparse/packed-rows.ts';
import { requireElements } from './tensor-gradient.ts';
import { enqueueChange } from '../executor/operation-queue.ts';

/** Options of a {@link Parameter} that is made from a tensor. */
export interface ParameterOptions {
  /** See {@link Parameter.requiresGrad}. Default: `true`. */
  requiresGrad?: boolean;
}

const parameterOptions: OptionNames<ParameterOptions> = { requiresGrad: true };

/** A trainable tensor (torch.nn.Parameter). Its elements and its gradient are stored in fixed arrays. */
export class Parameter extends Tensor implements DistributedParameter, GradientReceiver {
  /** Set by DistributedDataParallel: provides the array of the gradient and averages it over the ranks. */
  gradientSink: GradientSink | undefined;
  readonly #elements: ParameterElements;
  /** Reads the elements while the parameter is frozen: a leaf that is not trained. */
  readonly #frozenValue: Value;
  #requiresGrad = true;
  #ownGradient: ManagedBuffer | undefined;
  #averagedGradient: ManagedBuffer | undefined;
  #hasGradient = false;
  #sparseGradient: PackedRows | undefined;
  #hasSparseGradient = false;
  #path: string | undefined;

  /**
   * A parameter whose elements are in `data`, which is not copied.
   *
   * @param shape length of each dimension
   * @throws ShapeError if the number of elements does not fit the shape
   */
  constructor(data: Float32Array, shape: readonly number[]);
  /**
   * A parameter with the elements of a tensor, which are computed now and copied: `new Parameter(randn(2, 3).mul(0.02))`.
   *
   * @throws ArgumentError for a tensor of another dtype than float32 and bfloat16
   */

  constructor(data: Tensor, options?: ParameterOptions);
  constructor(given: Float32Array | Tensor, second?: readonly number[] | ParameterOptions) {
    const { data, shape, requiresGrad } = initialOf(given, second);
    const elements = new ParameterElements(data);
    super(input('float32', shape, elements));
    elements.parameter = this;
    this.#elements = elements;
    this.#frozenValue = input('float32', shape, new FrozenElements(elements, this));
    this.requiresGrad = requiresGrad;
  }

  /**
   * The value that operations read from now on. Existing graphs keep their value.
   *
   * @internal
   */
  override get value(): Value {
    return this.#requiresGrad ? super.value : this.#frozenValue;
  }

  /**
   * The trainable value, even of a frozen parameter.
   *
   * @internal
   */
  get trainedValue(): Value {
    return super.value;
  }

  /**
   * False if the parameter is frozen (torch.nn.Parameter.requires_grad). Operations recorded while it is frozen compute
   * no gradient for it, and optimizers skip it, even if it still has a gradient. A model that is wrapped in
   * DistributedDataParallel while parameters are frozen does not send their gradients; wrap it again after unfreezing them.
   * Default: `true`.
   */
  override get requiresGrad(): boolean {
    return this.#requiresGrad;
  }
  /** @throws ArgumentError if the value is not true or false */
  override set requiresGrad(requires: boolean) {
    requireBoolean(`requiresGrad of ${this.describe()}`, requires);
    if (requires !== this.#requiresGrad) invalidateRecordedCalls();
    this.#requiresGrad = requires;
  }

  /**
   * Records that the elements were changed, for graphs that were recorded before.
   *
   * @internal
   */
  recordChange(change: Change): void {
    recordChange(super.value, change);
    recordChange(this.#frozenValue, change);
  }

  /**
   * The elements, row-major. The optimizer changes them in place. Wrapping a model in DistributedDataParallel with
   * `shareParameters` replaces the array, as does `destroyProcessGroup` afterwards.
   */
  get data(): Float32Array {
    return this.#elements.data;
  }

  /**
   * The memory of `data`.
   *
   * @internal
   */
  get memory(): ManagedBuffer {
    return this.#elements.memory;
  }

  /**
   * Replaces the array of `data` by another that has the elements; a function is called on first use. For
   * DistributedDataParallel.
   */
  replaceData(data: Float32Array | (() => Float32Array)): void {
    this.#elements.replace(data);
  }

  /**
   * Sets the device of the graphs that read the parameter.
   *
   * @internal
   */
  moveTo(device: Device): void {
    this.#elements.device = device;
  }

  /**
   * The device to which the parameter was moved; undefined for the default device.
   *
   * @internal
   */
  get device(): Device | undefined {
    return this.#elements.device;
  }

  /**
   * The gradient accumulated since the last `zeroGrad`; undefined if no backward pass has reached the parameter since. It is a
   * `SparseGradient` if the parameter is a table that only lookups with `sparse: true` read. Setting it to undefined is `zeroGrad()`;
   * setting it to an array copies the elements, after all pending operations.
   */
  override get grad(): Float32Array | undefined {
    if (!this.#hasGradient) return undefined;
    return this.#sparseGradient ? this.#sparseGradient.gradient : this.gradientMemory.array;
  }
  override set grad(gradient: Float32Array | undefined) {
    requireElements(gradient, this);
    const copy = gradient?.slice();
    enqueueChange('grad', () => {
      if (copy) {
        this.#sparseGradient = undefined;
        this.gradientMemory.array.set(copy);
      }
      this.#hasGradient = copy !== undefined;
    });
  }

  /**
   * True for the table of an embedding with `sparse: true`, whose gradients DistributedDataParallel exchanges row by row.
   * Default: false.
   */
  get hasSparseGradient(): boolean {
    return this.#hasSparseGradient;
  }

  /**
   * Sets `hasSparseGradient`.
   *
   * @internal
   */
  expectSparseGradient(): void {
    this.#hasSparseGradient = true;
  }

  /** The rows of `grad`, if it is sparse; undefined if it is dense, or if there is none. */
  get gradientRows(): GradientRows | undefined {
    return this.#hasGradient ? this.#sparseGradient : undefined;
  }

  /**
   * See `GradientReceiver`.
   *
   * @internal
   */
  get sparseGradient(): PackedRows | undefined {
    return this.#sparseGradient;
  }

  /**
   * See `GradientReceiver`.
   *
   * @internal
   */
  setSparseGradient(rows: PackedRows | undefined): void {
    this.#sparseGradient = rows;
  }

  /** Makes `grad` the sum of the rows of all ranks, in their order, divided by a number. For DistributedDataParallel. */
  averageGradientRows(ofRanks: readonly GradientRows[], divisor: number): void {
    const [count, width] = this.shape;
    this.#sparseGradient = mergedRows([count, width], ofRanks, divisor);
    this.#hasGradient = true;
  }

  /**
   * Whether `grad` is defined.
   *
   * @internal
   */
  get hasGradient(): boolean {
    return this.#hasGradient;
  }

  /** Clears the gradient after all pending operations, such as a step that was not awaited. */
  zeroGrad(): void {
    enqueueChange('zeroGrad', () => {
      this.clearGradient();
    });
  }

  /**
   * Clears the gradient, regardless of pending operations.
   *
   * @internal
   */
  clearGradient(): void {
    this.#hasGradient = false;
  }

  /** Index of the bucket in which the gradient is averaged; 0 without DistributedDataParallel or without overlap. */
  get gradientBucketIndex(): number {
    return this.gradientSink?.bucketIndexOf(this) ?? 0;
  }

  /** Path of the parameter in its model, such as `conv1.weight`; undefined until a module lists it. For messages. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Records the path when a module lists the parameter. Keeps the longest path, which starts at the whole model. */
  listedAs(path: string): void {
    if (this.#path === undefined || path.length > this.#path.length) this.#path = path;
  }

  /** Describes the parameter in messages: its path, if known, and its type. */
  describe(): string {
    return `${this.#path === undefined ? 'a parameter' : `parameter ${this.#path}`} (${describeType(this)})`;
  }

  /**
   * The array that every backward pass writes: packed rows, memory of DistributedDataParallel's bucket, else the parameter's own.
   *
   * @internal
   */
  get gradientMemory(): ManagedBuffer {
    if (this.#sparseGradient) return this.#sparseGradient.memory;
    const averaged = this.gradientSink?.arrayOf(this);
    if (averaged === undefined)
      return (this.#ownGradient ??= new ManagedBuffer(new Float32Array(this.memory.length)));
    if (this.#averagedGradient?.identity !== averaged) this.#averagedGradient = new ManagedBuffer(averaged);
    return this.#averagedGradient;
  }

  /**
   * Makes `grad` defined, whose elements a device has averaged where they are.
   *
   * @internal
   */
  gradientAveraged(): void {
    this.#hasGradient = true;
  }

  gradientWritten(): void {
    this.#hasGradient = true;
    // The sink is about to read and write the array, or has written it.
    if (this.gradientSink !== undefined) this.#averagedGradient?.toHost();
    else warnOfUnaveragedGradient();
  }
}

/** The elements of a parameter as a leaf without a gradient. */
class FrozenElements implements Source {
  readonly frozen: GradientReceiver;
  readonly #elements: ParameterElements;

  constructor(elements: ParameterElements, parameter: GradientReceiver) {
    this.#elements = elements;
    this.frozen = parameter;
  }

  get memory(): ManagedBuffer {
    return this.#elements.memory;
  }

  get device(): Device | undefined {
    return this.#elements.device;
  }

  get data(): Float32Array {
    return this.#elements.data;
  }

  bufferIn(memory: ValueMemory): ValueBuffer {
    return this.#elements.bufferIn(memory);
  }
}

class ParameterElements implements Source {
  parameter: GradientReceiver | undefined;
  device: Device | undefined;
  #memory: ManagedBuffer | (() => Float32Array);

  constructor(data: Float32Array) {
    this.#memory = new ManagedBuffer(data);
  }

  get memory(): ManagedBuffer {
    if (typeof this.#memory === 'function') this.#memory = new ManagedBuffer(this.#memory());
    return this.#memory;
  }

  get data(): Float32Array {
    return this.memory.array;
  }

  bufferIn(memory: ValueMemory): ValueBuffer {
    return this.memory.forReading(memory);
  }

  replace(data: Float32Array | (() => Float32Array)): void {
    this.#memory = typeof data === 'function' ? data : new ManagedBuffer(data);
  }
}

function initialOf(
  given: unknown,
  second: unknown,
): { data: Float32Array; shape: readonly number[]; requiresGrad: boolean } {
  if (given instanceof Float32Array && Array.isArray(second)) {
    const shape = second as readonly number[];
    requireLength(given, { dtype: 'float32', shape });
    return { data: given, shape, requiresGrad: true };
  }
  if (!(given instanceof Tensor) || Array.isArray(second)) throw notInitial(given, second);
  requireOptions('Parameter', second, parameterOptions);
  if (!isFloat(given)) {
    throw new ArgumentError(
      `Parameter: expected a tensor of floats, got ${describeType(given)}. Write new Parameter(x.float()).`,
    );
  }
  const { requiresGrad = true } = (second ?? {}) as ParameterOptions;
  const elements = noGrad(() => given.float().arraySync());
  return { data: Float32Array.from(elements as Float32Array), shape: given.shape, requiresGrad };
}

function notInitial(given: unknown, second: unknown): ArgumentError {
  const shown = (one: unknown) => {
    if (one instanceof Tensor) return describeType(one);
    return Array.isArray(one) ? `[${one.join(', ')}]` : describeValue(one);
  };
  const got = [given, second].filter((one) => one !== undefined).map(shown);
  return new ArgumentError(
    `Parameter: expected a tensor, or a Float32Array and its shape, got ${got.join(' and ') || 'nothing'}. ` +
      'Write new Parameter(tensor([1, 2]).float()) or new Parameter(Float32Array.of(1, 2), [2]).',
  );
}
