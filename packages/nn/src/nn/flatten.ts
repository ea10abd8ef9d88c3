import { flatten } from '../functional/linear.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';
import { requireNumber } from './require.ts';

/** The dimensions from `startDim` to `endDim` made one (torch.nn.Flatten): [N, …] to [N, the rest] unless given. */
export class Flatten extends Module {
  readonly #startDim: number;
  readonly #endDim: number;

  constructor(startDim = 1, endDim = -1) {
    super();
    requireNumber('Flatten', { startDim, endDim });
    this.#startDim = startDim;
    this.#endDim = endDim;
  }

  forward(input: Tensor): Tensor {
    return flatten(input, this.#startDim, this.#endDim);
  }
}
