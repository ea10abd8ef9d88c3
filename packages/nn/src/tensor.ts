import { backward, read, readNumber, type BackwardOptions } from './autograd.ts';
import type { DType, TensorData } from './dtype.ts';
import { ArgumentError, NnError, ShapeError } from './errors.ts';
import { describeType, isNode, sizeOf, type Value } from './graph/node.ts';
import { inspectTensor } from './inspect-tensor.ts';
import { asElements, type TensorElements } from './elements.ts';
import { asRecorded } from './no-grad.ts';
import { requireLength } from './require-length.ts';
import { normalizeAxis } from './ops/axes.ts';
import * as elementwise from './ops/elementwise.ts';
import * as functions from './ops/functions.ts';
import { torchMatmul } from './ops/linear-algebra.ts';
import { reduceMax, reduceMean, reduceSum } from './ops/reduction.ts';
import { concat, flatten, reshape, transpose, unsqueeze } from './ops/shape.ts';
import { logSoftmax, softmax } from './ops/softmax.ts';
import { input, number } from './ops/source.ts';

/**
 * A value that is computed when it is asked for.
 *
 * Operations build a graph and compute nothing. `backward`, `item` and `array` compile the graph (once per structure and
 * shape) and run it, on what the arrays of its leaves hold at the time of the call.
 *
 * Backward passes, optimizer steps and reads of tensors run one after the other in the order of the calls, also where a call is not awaited. A tensor belongs to the parameters
 * and buffers that it was made from: after `optimizer.step()` has changed one of them, reading it is an error (ERR_OUTDATED), because its numbers were never
 * computed. The exceptions are numbers that are known: the loss of a backward pass, what `item` has returned, and what is computed from these.
 */
export class Tensor {
  /**
   * The value in the graph that this tensor stands for.
   *
   * @internal
   */
  readonly value: Value;
  #backwardCalled = false;

  /** @internal */
  constructor(value: Value) {
    this.value = asRecorded(value);
  }

  /** Element type. */
  get dtype(): DType {
    return this.value.dtype;
  }

  /** torch's flag for freezing; an assignment of it would do nothing here. */
  set requiresGrad(_: boolean) {
    throw new ArgumentError(
      'requiresGrad cannot be set: what is trained are Parameters. To freeze one, give it to no optimizer; to cut a tensor from its parameters, use detach().',
    );
  }

  /** `x + 1` and other arithmetic of JavaScript's are errors; a text has the tensor's type. */
  [Symbol.toPrimitive](hint: 'number' | 'string' | 'default'): string {
    if (hint === 'string') return `Tensor ${describeType(this.value)}`;
    throw new ArgumentError(
      `A Tensor, ${describeType(this.value)}, is used as a number. Write x.add(y), x.sub(y), x.mul(y) or x.div(y) for arithmetic, and await x.item() for its number.`,
    );
  }

  /** Length of each dimension; [] for a single number. */
  get shape(): readonly number[] {
    return this.value.shape;
  }

  /** What `console.log` prints: type, shape, and the first elements where they are known. It computes nothing and waits for nothing. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return inspectTensor(this.constructor.name, this.value);
  }

  /** Sum, elementwise; shapes broadcast as in torch and numpy. A number may change from step to step. */
  add(other: Tensor | number): Tensor {
    return new Tensor(elementwise.add(this.value, valueOf(other)));
  }

  /** Difference, elementwise; shapes broadcast. */
  sub(other: Tensor | number): Tensor {
    return new Tensor(elementwise.sub(this.value, valueOf(other)));
  }

  /** Product, elementwise; shapes broadcast. */
  mul(other: Tensor | number): Tensor {
    return new Tensor(elementwise.mul(this.value, valueOf(other)));
  }

  /** Quotient in float32, of integers too, as torch's `/`; shapes broadcast. */
  div(other: Tensor | number): Tensor {
    return new Tensor(elementwise.div(this.value, valueOf(other)));
  }

  /** −x, elementwise. */
  neg(): Tensor {
    return new Tensor(elementwise.neg(this.value));
  }

  /** eˣ, elementwise. */
  exp(): Tensor {
    return new Tensor(elementwise.exp(this.value));
  }

  /** Natural logarithm, elementwise. */
  log(): Tensor {
    return new Tensor(elementwise.log(this.value));
  }

  /** max(x, 0), elementwise. */
  relu(): Tensor {
    return new Tensor(elementwise.relu(this.value));
  }

  /** Square root, elementwise. */
  sqrt(): Tensor {
    return new Tensor(elementwise.sqrt(this.value));
  }

  /** Each element to a power, which becomes part of the compiled graph. */
  pow(exponent: number): Tensor {
    return new Tensor(functions.pow(this.value, exponent));
  }

  /** |x|, elementwise. */
  abs(): Tensor {
    return new Tensor(functions.abs(this.value));
  }

  /** Hyperbolic tangent, elementwise. */
  tanh(): Tensor {
    return new Tensor(functions.tanh(this.value));
  }

  /** 1 / (1 + exp(−x)) */
  sigmoid(): Tensor {
    return new Tensor(functions.sigmoid(this.value));
  }

  /** The error function, 2/√π · ∫₀ˣ exp(−t²) dt. */
  erf(): Tensor {
    return new Tensor(functions.erf(this.value));
  }

  /** Larger of two, elementwise (torch.maximum); where they are equal each takes half of the gradient. */
  maximum(other: Tensor | number): Tensor {
    return new Tensor(
      elementwise.neg(elementwise.min(elementwise.neg(this.value), elementwise.neg(valueOf(other)))),
    );
  }

  /** Smaller of two, elementwise (torch.minimum); where they are equal each takes half of the gradient. */
  minimum(other: Tensor | number): Tensor {
    return new Tensor(elementwise.min(this.value, valueOf(other)));
  }

  /**
   * Product of matrices (torch.matmul): [M, K] and [K, N] give [M, N]. Dimensions before these broadcast; a vector on the left is a
   * row, one on the right a column, and the result is without it.
   */
  matmul(other: Tensor): Tensor {
    return new Tensor(torchMatmul(this.value, other.value));
  }

  /** exp x / Σ exp x along `dim` (torch.softmax). */
  softmax(dim: number): Tensor {
    return new Tensor(softmax(this.value, dim));
  }

  /** x − log Σ exp x along `dim` (torch.log_softmax). */
  logSoftmax(dim: number): Tensor {
    return new Tensor(logSoftmax(this.value, dim));
  }

  /** Sum over `axes`; negative ones count from the last. Default, and for an empty list as in torch: all axes. */
  sum(axes?: readonly number[], keepdims = false): Tensor {
    return new Tensor(reduceSum(this.value, allIfNone(axes), keepdims));
  }

  /** Mean over `axes`, as those of `sum` (torch.mean). */
  mean(axes?: readonly number[], keepdims = false): Tensor {
    return new Tensor(reduceMean(this.value, allIfNone(axes), keepdims));
  }

  /** Largest element over `axes`, as those of `sum` (torch.amax); equal ones share the gradient. */
  amax(axes?: readonly number[], keepdims = false): Tensor {
    return new Tensor(reduceMax(this.value, allIfNone(axes), keepdims));
  }

  /** Smallest element over `axes`, as those of `sum` (torch.amin); equal ones share the gradient. */
  amin(axes?: readonly number[], keepdims = false): Tensor {
    return new Tensor(elementwise.neg(reduceMax(elementwise.neg(this.value), allIfNone(axes), keepdims)));
  }

  /** The same elements under another shape; one dimension may be -1: what remains (torch.Tensor.view). */
  view(...shape: number[]): Tensor {
    return new Tensor(reshape(this.value, shape));
  }

  /** Axis `i` of the result is axis `axes[i]` of this tensor; negative ones count from the last (torch.Tensor.permute). */
  permute(...axes: number[]): Tensor {
    return new Tensor(transpose(this.value, axes));
  }

  /** Swaps two axes (torch.Tensor.transpose). Negative axes count from the last. */
  transpose(dim0: number, dim1: number): Tensor {
    const [a, b] = [dim0, dim1].map((dim) => normalizeAxis('transpose', dim, this.value));
    const order = [...this.shape.keys()];
    return new Tensor(transpose(this.value, order.with(a, b).with(b, a)));
  }

  /** Merges the dimensions from `startDim` to `endDim` (torch.Tensor.flatten). Default: all of them. */
  flatten(startDim = 0, endDim = -1): Tensor {
    return new Tensor(flatten(this.value, startDim, endDim));
  }

  /** Inserts a dimension of size 1 before `dim` (torch.Tensor.unsqueeze). */
  unsqueeze(dim: number): Tensor {
    return new Tensor(unsqueeze(this.value, dim));
  }

  /** The same tensor without a way back to the parameters (torch.Tensor.detach): `backward` gives no gradient through it. */
  detach(): Tensor {
    return new Tensor(elementwise.detach(this.value));
  }

  /**
   * The elements that need no computation: the array that a tensor of `tensor(…)`, a parameter or a buffer lies over, not copied. Undefined for what operations
   * give: `await x.array()`. So the samples of a dataset may be tensors. A buffer's may block, as its `data`.
   */
  elements(): TensorData | undefined {
    const { node } = this.value;
    return isNode(node, 'Input') ? node.attributes.source.data : undefined;
  }

  /**
   * The elements, row-major, in a new array.
   *
   * @throws NnError (ERR_OUTDATED) if a parameter or buffer has been changed since this tensor was made from it; (ERR_NOT_AWAITED) if a backward pass or a step that
   * was called before and not awaited fails
   */
  async array(): Promise<TensorData> {
    return read(this.value, 'array');
  }

  /** The number in a tensor of one element; errors as of `array`. After `backward`, the loss that it computed, at no cost and also after `optimizer.step()`. */
  async item(): Promise<number> {
    if (sizeOf(this.shape) !== 1) {
      throw new ShapeError(`item: takes a tensor of one element, given ${describeType(this.value)}.`);
    }
    return readNumber(this.value);
  }

  /**
   * Computes the gradient of this loss (one number) for every parameter that it depends on, as torch.Tensor.backward: gradients add
   * to those of earlier backward passes until `zeroGrad`. Resolves when the optimizer may use them; under
   * DistributedDataParallel, when they are averaged over all ranks.
   *
   * @throws NnError (ERR_BACKWARD) for what is no loss: several numbers, no way to a parameter, a second time; (ERR_NONFINITE) where
   * `detectAnomaly` finds NaN or infinity; (ERR_OUTDATED) for a loss of parameters that have been changed since. No gradient is changed then.
   */
  async backward(options: BackwardOptions = {}): Promise<void> {
    if (this.#backwardCalled) {
      throw new NnError(
        'ERR_BACKWARD',
        'backward: called a second time on one loss; compute the loss anew from a forward call.',
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

/**
 * A tensor of given elements (torch.tensor).
 *
 * A Float32Array or a BigInt64Array is not copied: a graph reads what the array holds when `backward`, `array` or `item` is called. Other elements are copied
 * and converted. 64-bit and 16-bit floats become float32. Integers of other types become int64. A list of numbers becomes what torch makes of it:
 * int64 if all are integers, bool if all are booleans, else float32. JavaScript has no 1.0, so write `Float32Array.of(1, 2)` for floats that may be whole.
 *
 * @param data elements, row-major: a typed array or a list of numbers, bigints or booleans
 * @param shape dimensions. Default: [data.length]
 * @throws ArgumentError for other data, and for integers outside of int64; ShapeError where the number of elements does not fit the shape
 */
export function tensor(data: TensorElements, shape?: readonly number[]): Tensor {
  const { dtype, array } = asElements(data);
  const type = { dtype, shape: shape ?? [array.length] };
  requireLength(array, type);
  return new Tensor(input(dtype, type.shape, { data: array, isCallers: array === data }));
}

/**
 * Tensors one after the other along a dimension (torch.cat); they have equal shapes but for that dimension.
 *
 * @param dim negative values count from the last dimension. Default: 0.
 */
export function cat(tensors: readonly Tensor[], dim = 0): Tensor {
  return new Tensor(
    concat(
      tensors.map(({ value }) => value),
      dim,
    ),
  );
}

/** Tensors of one shape along a new dimension `dim` (torch.stack): two of [3, 4] give [2, 3, 4]. */
export function stack(tensors: readonly Tensor[], dim = 0): Tensor {
  return cat(
    tensors.map((tensor) => tensor.unsqueeze(dim)),
    dim,
  );
}

function valueOf(operand: Tensor | number): Value {
  return typeof operand === 'number' ? number(operand) : operand.value;
}

function allIfNone(axes: readonly number[] | undefined): readonly number[] | undefined {
  return axes?.length === 0 ? undefined : axes;
}
