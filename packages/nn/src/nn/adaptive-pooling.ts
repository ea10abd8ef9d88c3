import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  adaptiveMaxPool3d,
  type AdaptiveSize,
} from '../functional/adaptive-pooling.ts';
import type { Pair, Single, Triple } from '../functional/sizes.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';

/** Averages sequences of any size to a fixed size (torch.nn.AdaptiveAvgPool1d). */
export class AdaptiveAvgPool1d extends Module {
  readonly #outputSize: Single;

  constructor(...given: Call<[outputSize: Single], 'nn.AdaptiveAvgPool1d'>) {
    const [outputSize] = arranged('nn.AdaptiveAvgPool1d', given);
    super();
    this.#outputSize = outputSize;
  }

  /** [N, C, L] to [N, C, ...outputSize], or the same without N. */
  forward(input: Tensor): Tensor {
    return adaptiveAvgPool1d(input, this.#outputSize);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { output_size: this.#outputSize });
  }
}

/** Averages images of any size to a fixed size (torch.nn.AdaptiveAvgPool2d). */
export class AdaptiveAvgPool2d extends Module {
  readonly #outputSize: AdaptiveSize<Pair>;

  constructor(...given: Call<[outputSize: AdaptiveSize<Pair>], 'nn.AdaptiveAvgPool2d'>) {
    const [outputSize] = arranged('nn.AdaptiveAvgPool2d', given);
    super();
    this.#outputSize = outputSize;
  }

  /** [N, C, H, W] to [N, C, ...outputSize], or the same without N. */
  forward(input: Tensor): Tensor {
    return adaptiveAvgPool2d(input, this.#outputSize);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { output_size: this.#outputSize });
  }
}

/** Averages volumes of any size to a fixed size (torch.nn.AdaptiveAvgPool3d). */
export class AdaptiveAvgPool3d extends Module {
  readonly #outputSize: AdaptiveSize<Triple>;

  constructor(...given: Call<[outputSize: AdaptiveSize<Triple>], 'nn.AdaptiveAvgPool3d'>) {
    const [outputSize] = arranged('nn.AdaptiveAvgPool3d', given);
    super();
    this.#outputSize = outputSize;
  }

  /** [N, C, D, H, W] to [N, C, ...outputSize], or the same without N. */
  forward(input: Tensor): Tensor {
    return adaptiveAvgPool3d(input, this.#outputSize);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { output_size: this.#outputSize });
  }
}

/** Max-pools sequences of any length to a fixed length (torch.nn.AdaptiveMaxPool1d). */
export class AdaptiveMaxPool1d extends Module {
  readonly #outputSize: Single;

  constructor(...given: Call<[outputSize: Single], 'nn.AdaptiveMaxPool1d'>) {
    const [outputSize] = arranged('nn.AdaptiveMaxPool1d', given);
    super();
    this.#outputSize = outputSize;
  }

  /** [N, C, L] to [N, C, ...outputSize], or the same without N. */
  forward(input: Tensor): Tensor {
    return adaptiveMaxPool1d(input, this.#outputSize);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { output_size: this.#outputSize });
  }
}

/** Max-pools images of any size to a fixed size (torch.nn.AdaptiveMaxPool2d). */
export class AdaptiveMaxPool2d extends Module {
  readonly #outputSize: AdaptiveSize<Pair>;

  constructor(...given: Call<[outputSize: AdaptiveSize<Pair>], 'nn.AdaptiveMaxPool2d'>) {
    const [outputSize] = arranged('nn.AdaptiveMaxPool2d', given);
    super();
    this.#outputSize = outputSize;
  }

  /** [N, C, H, W] to [N, C, ...outputSize], or the same without N. */
  forward(input: Tensor): Tensor {
    return adaptiveMaxPool2d(input, this.#outputSize);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { output_size: this.#outputSize });
  }
}

/** Max-pools volumes of any size to a fixed size (torch.nn.AdaptiveMaxPool3d). */
export class AdaptiveMaxPool3d extends Module {
  readonly #outputSize: AdaptiveSize<Triple>;

  constructor(...given: Call<[outputSize: AdaptiveSize<Triple>], 'nn.AdaptiveMaxPool3d'>) {
    const [outputSize] = arranged('nn.AdaptiveMaxPool3d', given);
    super();
    this.#outputSize = outputSize;
  }

  /** [N, C, D, H, W] to [N, C, ...outputSize], or the same without N. */
  forward(input: Tensor): Tensor {
    return adaptiveMaxPool3d(input, this.#outputSize);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { output_size: this.#outputSize });
  }
}
