import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  avgPool1d,
  avgPool2d,
  avgPool3d,
  maxPool1d,
  maxPool2d,
  maxPool3d,
  type AvgPool1dOptions,
  type AvgPool2dOptions,
  type AvgPool3dOptions,
  type MaxPool1dOptions,
  type MaxPool2dOptions,
  type MaxPool3dOptions,
} from '../functional/pooling.ts';
import { sizesOf, type Pair, type Single, type Sizes, type Triple } from '../functional/sizes.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';

/** Largest element of each window (torch.nn.MaxPool1d). Default stride: the kernel size. */
export class MaxPool1d extends Module {
  readonly #kernelSize: Single;
  readonly #options: MaxPool1dOptions;

  constructor(...given: Call<[kernelSize: Single, options?: MaxPool1dOptions | undefined], 'nn.MaxPool1d'>) {
    const [kernelSize, options] = arranged('nn.MaxPool1d', given);
    super();

    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, L] to [N, C, oL], or the same without N. */
  forward(input: Tensor): Tensor {
    return maxPool1d(input, this.#kernelSize, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    return writeMaxPool(this.#kernelSize, this.#options);
  }
}

/** Largest element of each window (torch.nn.MaxPool2d). Default stride: the kernel size. */
export class MaxPool2d extends Module {
  readonly #kernelSize: Pair;
  readonly #options: MaxPool2dOptions;

  constructor(...given: Call<[kernelSize: Pair, options?: MaxPool2dOptions | undefined], 'nn.MaxPool2d'>) {
    const [kernelSize, options] = arranged('nn.MaxPool2d', given);
    super();

    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, H, W] to [N, C, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return maxPool2d(input, this.#kernelSize, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    return writeMaxPool(this.#kernelSize, this.#options);
  }
}

/** Largest element of each window (torch.nn.MaxPool3d). Default stride: the kernel size. */
export class MaxPool3d extends Module {
  readonly #kernelSize: Triple;
  readonly #options: MaxPool3dOptions;

  constructor(...given: Call<[kernelSize: Triple, options?: MaxPool3dOptions | undefined], 'nn.MaxPool3d'>) {
    const [kernelSize, options] = arranged('nn.MaxPool3d', given);
    super();

    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, D, H, W] to [N, C, oD, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return maxPool3d(input, this.#kernelSize, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    return writeMaxPool(this.#kernelSize, this.#options);
  }
}

/** Mean of each window (torch.nn.AvgPool1d). Default stride: the kernel size. */
export class AvgPool1d extends Module {
  readonly #kernelSize: Single;
  readonly #options: AvgPool1dOptions;

  constructor(...given: Call<[kernelSize: Single, options?: AvgPool1dOptions | undefined], 'nn.AvgPool1d'>) {
    const [kernelSize, options] = arranged('nn.AvgPool1d', given);
    super();

    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, L] to [N, C, oL], or the same without N. */
  forward(input: Tensor): Tensor {
    return avgPool1d(input, this.#kernelSize, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    const { stride = this.#kernelSize, padding = 0 } = this.#options;
    return writeAvgPool(sizesOf(this.#kernelSize, 1), {
      stride: sizesOf(stride, 1),
      padding: sizesOf(padding, 1),
    });
  }
}

/** Mean of each window (torch.nn.AvgPool2d). Default stride: the kernel size. */
export class AvgPool2d extends Module {
  readonly #kernelSize: Pair;
  readonly #options: AvgPool2dOptions;

  constructor(...given: Call<[kernelSize: Pair, options?: AvgPool2dOptions | undefined], 'nn.AvgPool2d'>) {
    const [kernelSize, options] = arranged('nn.AvgPool2d', given);
    super();

    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, H, W] to [N, C, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return avgPool2d(input, this.#kernelSize, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    return writeAvgPool(this.#kernelSize, this.#options);
  }
}

/** Mean of each window (torch.nn.AvgPool3d). Default stride: the kernel size. */
export class AvgPool3d extends Module {
  readonly #kernelSize: Triple;
  readonly #options: AvgPool3dOptions;

  constructor(...given: Call<[kernelSize: Triple, options?: AvgPool3dOptions | undefined], 'nn.AvgPool3d'>) {
    const [kernelSize, options] = arranged('nn.AvgPool3d', given);
    super();

    this.#kernelSize = kernelSize;
    this.#options = options;
  }

  /** [N, C, D, H, W] to [N, C, oD, oH, oW], or the same without N. */
  forward(input: Tensor): Tensor {
    return avgPool3d(input, this.#kernelSize, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    return writeAvgPool(this.#kernelSize, this.#options);
  }
}

function writeMaxPool(
  kernel: Sizes,
  options: MaxPool1dOptions | MaxPool2dOptions | MaxPool3dOptions,
): string {
  const { stride = kernel, padding = 0, dilation = 1, ceilMode = false } = options;
  return writeArguments([], { kernel_size: kernel, stride, padding, dilation, ceil_mode: ceilMode });
}

function writeAvgPool(
  kernel: Sizes | readonly number[],
  {
    stride = kernel,
    padding = 0,
  }: { stride?: Sizes | readonly number[]; padding?: Sizes | readonly number[] },
): string {
  return writeArguments([], { kernel_size: kernel, stride, padding });
}
