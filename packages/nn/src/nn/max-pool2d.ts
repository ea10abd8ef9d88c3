import { type Pair } from '../functional/pair.ts';
import { maxPool2d, type MaxPool2dOptions } from '../functional/pooling.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';

/** Largest element of each window (torch.nn.MaxPool2d); the stride is the window's size unless given. */
export class MaxPool2d extends Module {
  readonly #kernelSize: Pair;
  readonly #options: MaxPool2dOptions;

  constructor(kernelSize: Pair, options: MaxPool2dOptions = {}) {
    super();
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  forward(input: Tensor): Tensor {
    return maxPool2d(input, this.#kernelSize, this.#options);
  }
}
