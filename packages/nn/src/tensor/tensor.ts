import { nameCalls } from '../errors/called-function.ts';
import { readElements } from '../graph/element-checks.ts';
import { backward, read, readNumber, readNumberSync, readSync } from '../engine/autograd.ts';
import type { DType, TensorData } from '../dtype.ts';
import { ArgumentError, NnError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { dependsOnParameter, isTrainedLeaf } from '../graph/topology.ts';
import { inspectTensor, recordRead } from './inspect-tensor.ts';
import {
  asElements,
  flattened,
  isElement,
  isShaped,
  type FlatElements,
  type NestedElements,
  type ShapedElements,
  type TensorElements,
} from './elements.ts';
import { asRecorded } from './no-grad.ts';
import { requireDType } from '../checks/require-dtype.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { requireLength } from '../checks/require-length.ts';
import { requireFunction } from '../checks/require-function.ts';
import { addGradientHook, retainGradient } from '../graph/custom-gradient.ts';
import type { RemovableHandle } from '../graph/removable-handle.ts';
import { variable } from '../ops/custom-gradient.ts';
import { cast, detach } from '../ops/elementwise.ts';
import { input } from '../ops/source.ts';
import { MatrixMethods } from './matrix-methods.ts';
import { roundMethodsOnce } from './composed-methods.ts';
import { acceptScalars } from './scalars.ts';
import { inputsOf, refuseCreateGraph } from './backward-inputs.ts';
import { requireChangeable, requireGradient, requireElements, TensorGradient } from './tensor-gradient.ts';

/**
 * A lazy tensor (torch.Tensor): its elements are computed when they are read.
 *
 * Operations build a graph and compute nothing. `backward`, `item` and `array` compile the graph (once per structure and
 * shape) and run it on the elements of its leaves at the time of the call.
 *
 * Backward passes, optimizer steps and reads run in call order, even if they are not awaited. Reading a tensor
 * after a parameter or buffer that it was computed from has changed, for example by `optimizer.step()`, is an error
 * (ERR_OUTDATED). The exceptions are known values, and values computed from these: results of `item`; and of a backward pass the
 * loss, its parts, outputs of the model up to 2^18 elements, and tensors that were read after an earlier pass of the same structure.
 */
export class Tensor extends MatrixMethods<Tensor> {
  /**
   * The tensor's value in the graph.
   *
   * @internal
   */
  get value(): Value {
    return this.#variable ?? this.#value;
  }
  readonly #value: Value;
  /** The leaf that has a gradient, of a tensor whose `requiresGrad` was set. */
  #variable: Value | undefined;
  #gradient: TensorGradient | undefined;
  #backwardCalled = false;

  /** @internal */
  constructor(value: Value) {
    super();
    this.#value = asRecorded(value);
  }

  protected of(value: Value): Tensor {
    return new Tensor(value);
  }

  /**
   * True if a gradient passes through this tensor to a parameter, or to a leaf whose `requiresGrad` was set (torch.Tensor.requires_grad).
   * Set it to true for a gradient of this tensor: `backward` adds it to `grad`. Operations that were called before compute none.
   *
   * @throws ArgumentError when it is set on a tensor of integers or booleans, or to false on a tensor that is computed from others
   *   with gradients
   */
  get requiresGrad(): boolean {
    return dependsOnParameter(this.value);
  }
  /** Sets whether the tensor has a gradient. */
  set requiresGrad(requires: boolean) {
    const isComputed = dependsOnParameter(this.#value);
    requireChangeable(this.#value, requires, isComputed);
    if (!requires) this.#variable = undefined;
    else if (!isComputed) this.#variable ??= variable(this.#value, (this.#gradient ??= new TensorGradient()));
  }

  /** Sets `requiresGrad`, and returns this tensor (torch.Tensor.requires_grad_). Default: true. */
  requiresGrad_(requires = true): this {
    this.requiresGrad = requires;
    return this;
  }

  /** True for tensors that are not computed from others with gradients (torch.Tensor.is_leaf). */
  get isLeaf(): boolean {
    return isTrainedLeaf(this.value) || !this.requiresGrad;
  }

  /**
   * The gradient of a leaf with `requiresGrad`, or of a tensor after `retainGrad`: the sum of those of all backward passes, row-major.
   * Undefined before the first. Set it to undefined to start again (torch.Tensor.grad).
   *
   * @throws ArgumentError when it is set to anything but undefined or a Float32Array of the tensor's length
   */
  get grad(): Float32Array | undefined {
    return this.#gradient?.elements;
  }
  /** Clears the gradient, or copies these elements. */
  set grad(gradient: Float32Array | undefined) {
    requireElements(gradient, this.value);
    if (gradient) (this.#gradient ??= new TensorGradient()).elements = gradient.slice();
    else if (this.#gradient) this.#gradient.elements = undefined;
  }

  /**
   * Lets backward passes keep the gradient of this computed tensor in `grad` (torch.Tensor.retain_grad). Does nothing for a leaf.
   *
   * @throws ArgumentError if it has no gradient
   */
  retainGrad(): void {
    this.#requireGradient('retainGrad');
    if (!this.isLeaf) retainGradient(this.value, (this.#gradient ??= new TensorGradient()));
  }

  /**
   * Calls a function with the gradient of this tensor in every backward pass and `autograd.grad` (torch.Tensor.register_hook). A
   * tensor that it returns replaces the gradient. The gradient is a lazy tensor: `await gradient.array()` computes it. With
   * DistributedDataParallel, a hook of a parameter gets the gradient of this rank.
   *
   * @param hook synchronous; returns a tensor of the gradient's shape, or undefined
   * @returns a handle that removes the hook
   * @throws ArgumentError if the tensor has no gradient
   */
  registerHook(hook: (gradient: Tensor) => Tensor | undefined): RemovableHandle {
    requireFunction('registerHook', hook);
    this.#requireGradient('registerHook');
    const remove = addGradientHook(this.value, (gradient) => {
      const changed = hook(new Tensor(gradient));
      if (changed === undefined) return undefined;
      return cast(requireGradient('registerHook', changed, Tensor, gradient).value, gradient.dtype);
    });
    return { remove };
  }

  #requireGradient(where: string): void {
    if (this.requiresGrad) return;
    throw new ArgumentError(
      `${where}: expected a tensor with a gradient, got ${describeType(this.value)} that depends on no Parameter and on no tensor with requiresGrad. Set x.requiresGrad = true first.`,
    );
  }

  /** Rejects JavaScript's arithmetic, such as `x + 1`. In a template string, returns the tensor's type. */
  [Symbol.toPrimitive](hint: 'number' | 'string' | 'default'): string {
    if (hint === 'string') return `Tensor ${describeType(this.value)}`;
    throw new ArgumentError(
      `Expected a number, got a Tensor, ${describeType(this.value)}. Use x.add(y), x.sub(y), x.mul(y) or x.div(y) for arithmetic, and await x.item() to read its number.`,
    );
  }

  /** Rejects `JSON.stringify`, which would omit the elements. */
  toJSON(): never {
    throw new ArgumentError(
      `toJSON: expected numbers, got a Tensor, ${describeType(this.value)}. Use [...(await x.array())].`,
    );
  }

  /**
   * The text that `console.log` prints: type, shape, and the first elements if they are known, as after `array`. Never computes
   * or waits.
   */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return inspectTensor(this.constructor.name, this.#stored);
  }

  /** The same elements without a gradient (torch.Tensor.detach): `backward` does not propagate through it. */
  detach(): Tensor {
    return new Tensor(detach(this.value));
  }

  /**
   * The array of a tensor made by `tensor(…)`, of a parameter or of a buffer, not copied; undefined for results of operations,
   * which need `await x.array()`. So samples of a dataset may be tensors. For a buffer, blocks like its `data`.
   */
  elements(): TensorData | undefined {
    return readElements(this.#stored);
  }

  /** The value that has the elements. */
  get #stored(): Value {
    return this.#variable ? this.#value : this.value;
  }

  /**
   * Computes the elements, row-major, into a new array.
   *
   * @throws NnError (ERR_OUTDATED) if a parameter or buffer that this tensor was computed from has changed since;
   *   (ERR_NOT_AWAITED) if an earlier backward pass or step that was not awaited failed
   */
  async array(): Promise<TensorData> {
    const elements = await read(this.#stored, 'array');
    recordRead(this.#stored, elements);
    return elements;
  }

  /**
   * `array` for synchronous code (tf.Tensor.dataSync): blocks the event loop until the elements are computed. A small graph, such
   * as a policy called step by step, takes much less time than with `await x.array()`, because no other thread is woken.
   *
   * @throws NnError (ERR_NOT_AWAITED) if a backward pass, step or read is pending, or if the tensor depends on a collective
   *   or on elements that are being received from another rank; (ERR_OUTDATED) like `array`
   */
  arraySync(): TensorData {
    const elements = readSync(this.#stored, 'arraySync');
    recordRead(this.#stored, elements);
    return elements;
  }

  /**
   * The number in a tensor of one element. After `backward`, returns the computed loss at no cost, even after `optimizer.step()`.
   *
   * @throws ArgumentError for an int64 beyond 2^53, which a number cannot hold exactly; otherwise like `array`
   */
  async item(): Promise<number> {
    this.#requireOneElement('item');
    return readNumber(this.#stored);
  }

  /** `item` for synchronous code, which blocks the event loop (torch.Tensor.item). Throws like `arraySync`. */
  itemSync(): number {
    this.#requireOneElement('itemSync');
    return readNumberSync(this.#stored);
  }

  #requireOneElement(where: string): void {
    if (sizeOf(this.shape) === 1) return;
    throw new ShapeError(`${where}: expected a tensor of one element, got ${describeType(this.value)}.`);
  }

  /**
   * Computes the gradients of this loss (one number) for all parameters that it depends on, and for tensors with `requiresGrad`
   * (torch.Tensor.backward). They are added to those of earlier backward passes until `zeroGrad`. Resolves when the gradients are
   * ready; with DistributedDataParallel, when those of parameters have been averaged over all ranks.
   *
   * @throws ArgumentError for `inputs` without a gradient; NnError (ERR_BACKWARD) if this is not one number, does not depend on a Parameter or a tensor with `requiresGrad`, or
   *   already had a backward pass without `retainGraph`; (ERR_NONFINITE) if `detectAnomaly` finds NaN or infinity; (ERR_OUTDATED) if
   *   parameters have changed since the loss was computed from them. No gradient is changed in these cases.
   */
  async backward(options?: BackwardOptions): Promise<void>;
  /**
   * The same for a tensor of any shape: computes the gradients of `(this · gradient).sum()`.
   *
   * @param gradient of this tensor's shape. Default: 1 for a tensor of one element.
   */
  async backward(gradient: Tensor | undefined, options?: BackwardOptions): Promise<void>;
  async backward(first?: Tensor | BackwardOptions, second?: BackwardOptions): Promise<void> {
    const isGradient = first instanceof Tensor;
    const options = (isGradient || second !== undefined ? second : first) ?? {};
    requireOptions('backward', options, backwardOptions);
    refuseCreateGraph(options.createGraph);
    const given = isGradient ? first : (options.gradient ?? undefined);
    const gradient = given && cast(requireGradient('backward', given, Tensor, this.value).value, this.dtype);
    const inputs = inputsOf(options.inputs, Tensor);
    if (this.#backwardCalled) {
      throw new NnError(
        'ERR_BACKWARD',
        'backward: expected one call per loss, but it was called a second time. Compute the loss again with a forward call, or pass { retainGraph: true } to the first call.',
      );
    }
    this.#backwardCalled = options.retainGraph !== true;
    try {
      await backward(this.value, { detectAnomaly: options.detectAnomaly, gradient, inputs });
    } catch (error) {
      this.#backwardCalled = false;
      throw error;
    }
  }
}

roundMethodsOnce(Tensor);
acceptScalars(Tensor);
nameCalls(Tensor, ['constructor', 'backward', 'array', 'arraySync', 'item', 'itemSync']);

/** Options of {@link Tensor.backward}. */
export interface BackwardOptions {
  /**
   * If true, throws if the loss or a gradient is NaN or infinite, and names the operator that produced it
   * (torch.autograd.detect_anomaly) by running the graph once more with all intermediate values. Otherwise costs one scan
   * of all gradients. With DistributedDataParallel, only ranks whose own loss or gradient is affected throw.
   * Default: `false`.
   */
  detectAnomaly?: boolean;
  /** If true, the loss may have another backward pass. Default: `false`. */
  retainGraph?: boolean;
  /** Gradient of this tensor, of its shape. Default: 1 for a tensor of one element. */
  gradient?: Tensor;
  /**
   * Tensors whose `grad` receives a gradient: parameters, tensors with `requiresGrad`, and others after `retainGrad`. All others are
   * left as they are, and what only they need is not computed. Default: all.
   */
  inputs?: Tensor | readonly Tensor[];
  /** Only `false`, the default: `grad` is an array. `autograd.grad` computes gradients that have gradients. */
  createGraph?: false;
}

const backwardOptions: OptionNames<BackwardOptions> = {
  detectAnomaly: true,
  retainGraph: true,
  gradient: true,
  inputs: true,
  createGraph: true,
};

/** Options of {@link tensor}. */
export interface TensorOptions {
  /** Element type. Default: that of the elements. Floats become int64 by truncation, as in torch. */
  dtype?: DType;
  /** See {@link Tensor.requiresGrad}. Default: false. */
  requiresGrad?: boolean;
}

const tensorOptions: OptionNames<TensorOptions> = { dtype: true, requiresGrad: true };

/**
 * Creates a tensor from elements and their shape, such as a field of a DataLoader's batch or an entry of a state dict, or from
 * elements alone. Other properties, such as the mask of `padTo`, are ignored.
 */
export function tensor(elements: ShapedElements | TensorElements, options?: TensorOptions): Tensor;
/**
 * Creates a tensor from the given elements (torch.tensor).
 *
 * A Float32Array or BigInt64Array is not copied: graphs read its elements at the call of `backward`, `array` or `item`.
 * Other elements are copied and converted: 64-bit and 16-bit floats to float32, integers to int64. As in torch, a list
 * becomes int64 if all elements are integers, bool if all are booleans, else float32. JavaScript does not distinguish 1.0
 * from 1, so pass `{ dtype: 'float32' }` or `Float32Array.of(1, 2)` for floats.
 *
 * @param data elements: a number, a list of numbers, bigints or booleans, lists of such lists, or a typed array, row-major
 * @param shape dimensions of a typed array or of a list. Default: those of the lists, [] for a number, [data.length]
 * @throws ArgumentError for other data, for lists of different lengths and for integers out of the range of int64; ShapeError if
 *   the number of elements does not fit the shape
 */
export function tensor(data: TensorElements, shape?: readonly number[], options?: TensorOptions): Tensor;
export function tensor(
  given: TensorElements | ShapedElements,
  second?: readonly number[] | TensorOptions,
  third?: TensorOptions,
): Tensor {
  const isShape = second === undefined || Array.isArray(second);
  const options = (isShape ? third : second) ?? {};
  requireOptions('tensor', options, tensorOptions);
  const { dtype, requiresGrad } = options as TensorOptions;
  if (dtype !== undefined) requireDType('tensor', dtype);
  const made = tensorOfElements(
    given,
    isShape ? (second as readonly number[] | undefined) : undefined,
    dtype,
  );
  return requiresGrad === undefined ? made : made.requiresGrad_(requiresGrad);
}

function tensorOfElements(
  given: TensorElements | ShapedElements,
  dimensions: readonly number[] | undefined,
  wanted: DType | undefined,
): Tensor {
  const { data, shape } = isShaped(given) ? requireOneShape(given, dimensions) : shapedOf(given, dimensions);
  const { dtype, array } = asElements(data, wanted);
  const type = { dtype, shape: shape ?? [array.length] };
  requireLength(array, type);
  return new Tensor(input(dtype, type.shape, { data: array, isCallers: array === data }));
}

/** Numbers, and lists in lists, have a shape. */
function shapedOf(
  given: TensorElements,
  shape: readonly number[] | undefined,
): { data: FlatElements; shape: readonly number[] | undefined } {
  if (!Array.isArray(given) && !isElement(given)) return { data: given as FlatElements, shape };
  const found = flattened(given as NestedElements);
  return { data: found.data, shape: shape ?? found.shape };
}

function requireOneShape(elements: ShapedElements, shape: readonly number[] | undefined): ShapedElements {
  if (shape === undefined) return elements;
  throw new ArgumentError(
    `tensor: expected one shape, got [${elements.shape.join()}] of the elements and [${shape.join()}]. Pass the elements alone, or elements.data and a shape.`,
  );
}
