import { nameCalls } from '../errors/called-function.ts';
import { readElements } from '../graph/element-checks.ts';
import {
  backward,
  read,
  readNumber,
  readNumberSync,
  readSync,
  type BackwardOptions,
} from '../engine/autograd.ts';
import type { TensorData } from '../dtype.ts';
import { ArgumentError, NnError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { dependsOnParameter } from '../graph/topology.ts';
import { inspectTensor, recordRead } from './inspect-tensor.ts';
import { asElements, isShaped, type ShapedElements, type TensorElements } from './elements.ts';
import { asRecorded } from './no-grad.ts';
import { requireLength } from '../checks/require-length.ts';
import { detach } from '../ops/elementwise.ts';
import { input } from '../ops/source.ts';
import { MatrixMethods } from './matrix-methods.ts';
import { roundMethodsOnce } from './composed-methods.ts';
import { acceptScalars } from './scalars.ts';

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
    return this.#value;
  }
  readonly #value: Value;
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
   * True if `backward` reaches a parameter through this tensor (torch.Tensor.requires_grad). Settable only on a {@link
   * Parameter}.
   */
  get requiresGrad(): boolean {
    return dependsOnParameter(this.value);
  }
  /** Throws: only parameters can be frozen. */
  set requiresGrad(_: boolean) {
    throw new ArgumentError(
      'requiresGrad cannot be set: only Parameters are trained. Write new Parameter(data, shape) for a trained tensor, and x.detach() to block the gradients of a result.',
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
    return inspectTensor(this.constructor.name, this.value);
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
    return readElements(this.value);
  }

  /**
   * Computes the elements, row-major, into a new array.
   *
   * @throws NnError (ERR_OUTDATED) if a parameter or buffer that this tensor was computed from has changed since;
   *   (ERR_NOT_AWAITED) if an earlier backward pass or step that was not awaited failed
   */
  async array(): Promise<TensorData> {
    const elements = await read(this.value, 'array');
    recordRead(this.value, elements);
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
    const elements = readSync(this.value, 'arraySync');
    recordRead(this.value, elements);
    return elements;
  }

  /**
   * The number in a tensor of one element. After `backward`, returns the computed loss at no cost, even after `optimizer.step()`.
   *
   * @throws ArgumentError for an int64 beyond 2^53, which a number cannot hold exactly; otherwise like `array`
   */
  async item(): Promise<number> {
    this.#requireOneElement('item');
    return readNumber(this.value);
  }

  /** `item` for synchronous code, which blocks the event loop (torch.Tensor.item). Throws like `arraySync`. */
  itemSync(): number {
    this.#requireOneElement('itemSync');
    return readNumberSync(this.value);
  }

  #requireOneElement(where: string): void {
    if (sizeOf(this.shape) === 1) return;
    throw new ShapeError(`${where}: expected a tensor of one element, got ${describeType(this.value)}.`);
  }

  /**
   * Computes the gradients of this loss (one number) for all parameters that it depends on (torch.Tensor.backward). They
   * are added to those of earlier backward passes until `zeroGrad`. Resolves when the gradients are ready; with
   * DistributedDataParallel, when they have been averaged over all ranks.
   *
   * @throws NnError (ERR_BACKWARD) if this is not one number, does not depend on a Parameter, or already had a backward pass;
   *   (ERR_NONFINITE) if `detectAnomaly` finds NaN or infinity; (ERR_OUTDATED) if parameters have changed since the loss was
   *   computed from them. No gradient is changed in these cases.
   */
  async backward(options: BackwardOptions = {}): Promise<void> {
    if (this.#backwardCalled) {
      throw new NnError(
        'ERR_BACKWARD',
        'backward: expected one call per loss, but it was called a second time. Compute the loss again with a forward call.',
      );
    }
    this.#backwardCalled = true;
    try {
      await backward(this.value, options);
    } catch (error) {
      this.#backwardCalled = false;
      throw error;
    }
  }
}

roundMethodsOnce(Tensor);
acceptScalars(Tensor);
nameCalls(Tensor, ['constructor', 'backward', 'array', 'arraySync', 'item', 'itemSync']);

/**
 * Creates a tensor from elements and their shape, such as a field of a DataLoader's batch or an entry of a state dict. Other
 * properties, such as the mask of `padTo`, are ignored.
 */
export function tensor(elements: ShapedElements): Tensor;
/**
 * Creates a tensor from the given elements (torch.tensor).
 *
 * A Float32Array or BigInt64Array is not copied: graphs read its elements at the call of `backward`, `array` or `item`.
 * Other elements are copied and converted: 64-bit and 16-bit floats to float32, integers to int64. As in torch, a list
 * becomes int64 if all elements are integers, bool if all are booleans, else float32. JavaScript does not distinguish 1.0
 * from 1, so use `Float32Array.of(1, 2)` for floats.
 *
 * @param data elements, row-major: a typed array or a list of numbers, bigints or booleans
 * @param shape dimensions. Default: [data.length]
 * @throws ArgumentError for other data and for integers out of the range of int64; ShapeError if the number of elements does
 *   not fit the shape
 */
export function tensor(data: TensorElements, shape?: readonly number[]): Tensor;
export function tensor(given: TensorElements | ShapedElements, dimensions?: readonly number[]): Tensor {
  const { data, shape } = isShaped(given)
    ? requireOneShape(given, dimensions)
    : { data: given, shape: dimensions };
  const { dtype, array } = asElements(data);
  const type = { dtype, shape: shape ?? [array.length] };
  requireLength(array, type);
  return new Tensor(input(dtype, type.shape, { data: array, isCallers: array === data }));
}

function requireOneShape(elements: ShapedElements, shape: readonly number[] | undefined): ShapedElements {
  if (shape === undefined) return elements;
  throw new ArgumentError(
    `tensor: expected one shape, got [${elements.shape.join()}] of the elements and [${shape.join()}]. Pass the elements alone, or elements.data and a shape.`,
  );
}
