import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { flatten } from '../functional/linear.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requireNumber } from '../checks/require-number.ts';

/** Flattens dimensions `startDim` to `endDim` into one (torch.nn.Flatten). Default: 1 to -1, [N, …] to [N, features]. */
export class Flatten extends Module {
  readonly #startDim: number;
  readonly #endDim: number;

  constructor(...given: Call<[startDim?: number | undefined, endDim?: number | undefined], 'nn.Flatten'>) {
    const [startDim = 1, endDim = -1] = arranged('nn.Flatten', given);
    super();
    requireNumber('Flatten', { startDim, endDim });
    this.#startDim = startDim;
    this.#endDim = endDim;
  }

  /** Merges the dimensions; the elements keep their order. */
  forward(input: Tensor): Tensor {
    return flatten(input, this.#startDim, this.#endDim);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { start_dim: this.#startDim, end_dim: this.#endDim });
  }
}

/** Splits a dimension into several (torch.nn.Unflatten): see `Tensor.unflatten`. */
export class Unflatten extends Module {
  readonly #dim: number;
  readonly #sizes: readonly number[];

  /** - `sizes`: their product is the length of `dim`; one may be −1 */
  constructor(...given: Call<[dim: number, unflattenedSize: readonly number[]], 'nn.Unflatten'>) {
    const [dim, sizes] = arranged('nn.Unflatten', given);
    super();
    this.#dim = dim;
    this.#sizes = [...sizes];
  }

  /** Splits the dimension; the elements keep their order. */
  forward(input: Tensor): Tensor {
    return input.unflatten(this.#dim, this.#sizes);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { dim: this.#dim, unflattened_size: this.#sizes });
  }
}
