import { backward } from './autograd.ts';
import { evaluate } from './compiler/compile.ts';
import { newArray, type ArrayOf, type DType, type TensorData } from './dtype.ts';
import { NnError, ShapeError } from './errors.ts';
import { describeType, sizeOf, type Value } from './graph/node.ts';
import * as elementwise from './ops/elementwise.ts';
import { reduceMean, reduceSum } from './ops/reduction.ts';
import { reshape, transpose } from './ops/shape.ts';
import { constant, input } from './ops/source.ts';

/**
 * A value that is computed when it is asked for.
 *
 * Operations build a graph and compute nothing. `backward`, `item` and `array` compile the graph (once per structure and
 * shape) and run it, on what the arrays of its leaves hold at that moment.
 */
export class Tensor {
  /** The value in the graph that this tensor stands for. */
  readonly value: Value;
  #backwardCalled = false;
  #item: number | undefined;

  constructor(value: Value) {
    this.value = value;
  }

  get dtype(): DType {
    return this.value.dtype;
  }

  get shape(): readonly number[] {
    return this.value.shape;
  }

  /** Sum, elementwise; shapes broadcast as in torch and numpy. A number becomes part of the compiled graph. */
  add(other: Tensor | number): Tensor {
    return new Tensor(elementwise.add(this.value, valueOf(other)));
  }

  sub(other: Tensor | number): Tensor {
    return new Tensor(elementwise.sub(this.value, valueOf(other)));
  }

  mul(other: Tensor | number): Tensor {
    return new Tensor(elementwise.mul(this.value, valueOf(other)));
  }

  div(other: Tensor | number): Tensor {
    return new Tensor(elementwise.div(this.value, valueOf(other)));
  }

  neg(): Tensor {
    return new Tensor(elementwise.neg(this.value));
  }

  exp(): Tensor {
    return new Tensor(elementwise.exp(this.value));
  }

  log(): Tensor {
    return new Tensor(elementwise.log(this.value));
  }

  relu(): Tensor {
    return new Tensor(elementwise.relu(this.value));
  }

  /** Sum over `axes`, all of them unless given; negative ones count from the last. */
  sum(axes?: readonly number[], keepdims = false): Tensor {
    return new Tensor(reduceSum(this.value, axes, keepdims));
  }

  mean(axes?: readonly number[], keepdims = false): Tensor {
    return new Tensor(reduceMean(this.value, axes, keepdims));
  }

  /** The same elements under another shape; one dimension may be -1: what remains (torch.Tensor.view). */
  view(...shape: number[]): Tensor {
    return new Tensor(reshape(this.value, shape));
  }

  /** Axis `i` of the result is axis `axes[i]` of this tensor (torch.Tensor.permute). */
  permute(...axes: number[]): Tensor {
    return new Tensor(transpose(this.value, axes));
  }

  /** The elements, row-major, in a new array. */
  async array(): Promise<TensorData> {
    const data = newArray(this.dtype, sizeOf(this.shape));
    await evaluate([this.value], [data]);
    return data;
  }

  /** The number in a tensor of one element. After `backward`, the loss that it computed, at no cost. */
  async item(): Promise<number> {
    if (sizeOf(this.shape) !== 1) {
      throw new ShapeError(`item: takes a tensor of one element, given ${describeType(this.value)}.`);
    }
    this.#item ??= Number((await this.array())[0]);
    return this.#item;
  }

  /**
   * Computes the gradient of this loss (one number) for every parameter that it depends on, as torch.Tensor.backward: gradients add
   * to those of earlier backward passes until `zeroGrad`. Resolves when the optimizer may use them; under
   * DistributedDataParallel, when they are averaged over all ranks.
   */
  async backward(): Promise<void> {
    if (this.#backwardCalled) {
      throw new NnError(
        'ERR_BACKWARD',
        'backward: called a second time on one loss; compute the loss anew from a forward call.',
      );
    }
    this.#backwardCalled = true;
    try {
      this.#item = await backward(this.value);
    } catch (error) {
      this.#backwardCalled = false;
      throw error;
    }
  }
}

/**
 * A tensor over an array, which is not copied: what the array holds when a graph runs is what the graph reads.
 *
 * @param data float32 or int64 elements, row-major
 * @param shape dimensions; [data.length] unless given
 */
export function tensor(data: Float32Array | BigInt64Array, shape: readonly number[] = [data.length]): Tensor {
  const dtype = data instanceof Float32Array ? 'float32' : 'int64';
  requireLength(data, dtype, shape);
  return new Tensor(input(dtype, shape, { data }));
}

export function requireLength(data: ArrayOf[DType], dtype: DType, shape: readonly number[]): void {
  const valid = shape.every((dimension) => Number.isInteger(dimension) && dimension >= 0);
  if (!valid || sizeOf(shape) !== data.length) {
    throw new ShapeError(
      `tensor: ${dtype}[${shape.join()}] takes ${sizeOf(shape)} elements, the array has ${data.length}.`,
    );
  }
}

function valueOf(operand: Tensor | number): Value {
  return typeof operand === 'number' ? constant(operand) : operand.value;
}
