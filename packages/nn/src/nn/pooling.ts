import { type Pair } from '../functional/pair.ts';
import {
  adaptiveAvgPool2d,
  avgPool2d,
  avgPool2dOptions,
  maxPool2d,
  maxPool2dOptions,
  type AvgPool2dOptions,
  type MaxPool2dOptions,
} from '../functional/pooling.ts';
import { requireOptions } from '../require-options.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';

/** Largest element of each window (torch.nn.MaxPool2d). Default stride: the window's size. */
export class MaxPool2d extends Module {
  readonly #kernelSize: Pair;
  readonly #options: MaxPool2dOptions;

  constructor(kernelSize: Pair, options: MaxPool2dOptions = {}) {
    super();
    requireOptions('MaxPool2d', options, maxPool2dOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, H, W] to [N, C, oH, oW]. */
  forward(input: Tensor): Tensor {
    return maxPool2d(input, this.#kernelSize, this.#options);
  }
}

/** Mean of each window (torch.nn.AvgPool2d). Default stride: the window's size. */
export class AvgPool2d extends Module {
  readonly #kernelSize: Pair;
  readonly #options: AvgPool2dOptions;

  constructor(kernelSize: Pair, options: AvgPool2dOptions = {}) {
    super();
    requireOptions('AvgPool2d', options, avgPool2dOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, H, W] to [N, C, oH, oW]. */
  forward(input: Tensor): Tensor {
    return avgPool2d(input, this.#kernelSize, this.#options);
  }
}

/** Averages an image of any size to a fixed size (torch.nn.AdaptiveAvgPool2d): [N, C, H, W] to [N, C, ...outputSize]. */
export class AdaptiveAvgPool2d extends Module {
  readonly #outputSize: Pair;

  constructor(outputSize: Pair) {
    super();
    this.#outputSize = outputSize;
  }

  /** [N, C, H, W] to [N, C, ...outputSize]. */
  forward(input: Tensor): Tensor {
    return adaptiveAvgPool2d(input, this.#outputSize);
  }
}
