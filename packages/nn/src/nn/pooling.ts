import {
  avgPool1d,
  avgPool2d,
  avgPool3d,
  avgPoolOptions,
  maxPool1d,
  maxPool2d,
  maxPool3d,
  maxPoolOptions,
  type AvgPool1dOptions,
  type AvgPool2dOptions,
  type AvgPool3dOptions,
  type MaxPool1dOptions,
  type MaxPool2dOptions,
  type MaxPool3dOptions,
} from '../functional/pooling.ts';
import type { Pair, Single, Triple } from '../functional/sizes.ts';
import { requireOptions } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Largest element of each window (torch.nn.MaxPool1d). Default stride: the kernel size. */
export class MaxPool1d extends Module {
  readonly #kernelSize: Single;
  readonly #options: MaxPool1dOptions;

  constructor(kernelSize: Single, options: MaxPool1dOptions = {}) {
    super();
    requireOptions('MaxPool1d', options, maxPoolOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, L] to [N, C, oL], or the same without N. */
  forward(input: Tensor): Tensor {
    return maxPool1d(input, this.#kernelSize, this.#options);
  }
}

/** Largest element of each window (torch.nn.MaxPool2d). Default stride: the kernel size. */
export class MaxPool2d extends Module {
  readonly #kernelSize: Pair;
  readonly #options: MaxPool2dOptions;

  constructor(kernelSize: Pair, options: MaxPool2dOptions = {}) {
    super();
    requireOptions('MaxPool2d', options, maxPoolOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, H, W] to [N, C, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return maxPool2d(input, this.#kernelSize, this.#options);
  }
}

/** Largest element of each window (torch.nn.MaxPool3d). Default stride: the kernel size. */
export class MaxPool3d extends Module {
  readonly #kernelSize: Triple;
  readonly #options: MaxPool3dOptions;

  constructor(kernelSize: Triple, options: MaxPool3dOptions = {}) {
    super();
    requireOptions('MaxPool3d', options, maxPoolOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, D, H, W] to [N, C, oD, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return maxPool3d(input, this.#kernelSize, this.#options);
  }
}

/** Mean of each window (torch.nn.AvgPool1d). Default stride: the kernel size. */
export class AvgPool1d extends Module {
  readonly #kernelSize: Single;
  readonly #options: AvgPool1dOptions;

  constructor(kernelSize: Single, options: AvgPool1dOptions = {}) {
    super();
    requireOptions('AvgPool1d', options, avgPoolOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, L] to [N, C, oL], or the same without N. */
  forward(input: Tensor): Tensor {
    return avgPool1d(input, this.#kernelSize, this.#options);
  }
}

/** Mean of each window (torch.nn.AvgPool2d). Default stride: the kernel size. */
export class AvgPool2d extends Module {
  readonly #kernelSize: Pair;
  readonly #options: AvgPool2dOptions;

  constructor(kernelSize: Pair, options: AvgPool2dOptions = {}) {
    super();
    requireOptions('AvgPool2d', options, avgPoolOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, H, W] to [N, C, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return avgPool2d(input, this.#kernelSize, this.#options);
  }
}

/** Mean of each window (torch.nn.AvgPool3d). Default stride: the kernel size. */
export class AvgPool3d extends Module {
  readonly #kernelSize: Triple;
  readonly #options: AvgPool3dOptions;

  constructor(kernelSize: Triple, options: AvgPool3dOptions = {}) {
    super();
    requireOptions('AvgPool3d', options, avgPoolOptions);
    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, D, H, W] to [N, C, oD, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return avgPool3d(input, this.#kernelSize, this.#options);
  }
}
