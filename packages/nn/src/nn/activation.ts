import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import {
  gelu,
  leakyRelu,
  logSoftmax,
  relu,
  sigmoid,
  silu,
  softmax,
  softmin,
  tanh,
  type GELUOptions,
} from '../functional/activation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { InplaceActivation, type InplaceOptions } from './inplace-activation.ts';
import { Module } from './module.ts';
import { inplaceOf, quoted, writeArguments } from './repr.ts';
import { requireNumber } from '../checks/require-number.ts';

/** max(x, 0) (torch.nn.ReLU). */
export class ReLU extends InplaceActivation {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return relu(input);
  }
}

/** x if x > 0, else negativeSlope·x (torch.nn.LeakyReLU). */
export class LeakyReLU extends Module {
  readonly #negativeSlope: number;
  readonly #inplace: boolean;

  constructor(
    ...given: Call<[negativeSlope?: number | undefined, options?: InplaceOptions | undefined], 'nn.LeakyReLU'>
  ) {
    const [negativeSlope = 0.01, { inplace = false }] = arranged('nn.LeakyReLU', given);
    super();
    requireNumber('LeakyReLU', { negativeSlope });
    this.#negativeSlope = negativeSlope;
    this.#inplace = inplace;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return leakyRelu(input, this.#negativeSlope);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { negative_slope: this.#negativeSlope, ...inplaceOf(this.#inplace) });
  }
}

/** x·Φ(x), Φ the standard normal distribution (torch.nn.GELU). */
export class GELU extends Module {
  readonly #options: GELUOptions;

  constructor(...given: Call<[options?: GELUOptions | undefined], 'nn.GELU'>) {
    const [options] = arranged('nn.GELU', given);
    super();

    this.#options = options;
  }

  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return gelu(input, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { approximate: quoted(this.#options.approximate ?? 'none') });
  }
}

/** x·sigmoid(x) (torch.nn.SiLU). */
export class SiLU extends InplaceActivation {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return silu(input);
  }
}

/** 1 / (1 + exp(−x)) (torch.nn.Sigmoid). */
export class Sigmoid extends Module {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return sigmoid(input);
  }
}

/** Hyperbolic tangent (torch.nn.Tanh). */
export class Tanh extends Module {
  /** Applies the function to each element; the shape is kept. */
  forward(input: Tensor): Tensor {
    return tanh(input);
  }
}

/** exp x / Σ exp x along `dim` (torch.nn.Softmax). */
export class Softmax extends Module {
  readonly #dim: number;

  constructor(...given: Call<[dim: number], 'nn.Softmax'>) {
    const [dim] = arranged('nn.Softmax', given);
    super();
    requireNumber('Softmax', { dim });
    this.#dim = dim;
  }

  /** Normalizes along `dim`; the shape is kept. */
  forward(input: Tensor): Tensor {
    return softmax(input, this.#dim);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { dim: this.#dim });
  }
}

/** exp(−x) / Σ exp(−x) along `dim` (torch.nn.Softmin). */
export class Softmin extends Module {
  readonly #dim: number;

  constructor(...given: Call<[dim: number], 'nn.Softmin'>) {
    const [dim] = arranged('nn.Softmin', given);
    super();
    requireNumber('Softmin', { dim });
    this.#dim = dim;
  }

  /** Normalizes along `dim`; the shape is kept. */
  forward(input: Tensor): Tensor {
    return softmin(input, this.#dim);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { dim: this.#dim });
  }
}

/** Softmax over the channels of [N, C, H, W] or [C, H, W] (torch.nn.Softmax2d). */
export class Softmax2d extends Module {
  /** Normalizes each pixel's channels; the shape is kept. */
  forward(input: Tensor): Tensor {
    return softmax(input, -3);
  }
}

/** x − log Σ exp x along `dim` (torch.nn.LogSoftmax). */
export class LogSoftmax extends Module {
  readonly #dim: number;

  constructor(...given: Call<[dim: number], 'nn.LogSoftmax'>) {
    const [dim] = arranged('nn.LogSoftmax', given);
    super();
    requireNumber('LogSoftmax', { dim });
    this.#dim = dim;
  }

  /** Normalizes along `dim`; the shape is kept. */
  forward(input: Tensor): Tensor {
    return logSoftmax(input, this.#dim);
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { dim: this.#dim });
  }
}
