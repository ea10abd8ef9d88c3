import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { alphaDropout, dropout1d, dropout2d, dropout3d } from '../functional/channel-dropout.ts';
import { requireProbability } from '../functional/dropout.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { InplaceOptions } from './inplace-activation.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';

/** Base class of the dropout modules below: a probability, and the identity in evaluation. */
export abstract class DropoutModule extends Module {
  readonly #p: number;
  readonly #inplace: boolean;

  constructor(
    ...given: Call<[p?: number | undefined, options?: InplaceOptions | undefined], 'nn.DropoutModule'>
  ) {
    const [p = 0.5, { inplace = false }] = arranged('nn.DropoutModule', given, new.target.name);
    super();
    requireProbability(new.target.name, p);
    this.#p = p;
    this.#inplace = inplace;
  }

  /** Drops elements. */
  protected abstract drop(input: Tensor, p: number): Tensor;

  /** The shape is kept. */
  forward(input: Tensor): Tensor {
    return this.training ? this.drop(input, this.#p) : input;
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { p: this.#p, inplace: this.#inplace });
  }
}

/** Drops whole channels of [N, C, L] in training; the identity in evaluation (torch.nn.Dropout1d). See `F.dropout1d`. */
export class Dropout1d extends DropoutModule {
  protected drop(input: Tensor, p: number): Tensor {
    return dropout1d(input, p);
  }
}

/** Drops whole channels of [N, C, H, W] in training; the identity in evaluation (torch.nn.Dropout2d). See `F.dropout2d`. */
export class Dropout2d extends DropoutModule {
  protected drop(input: Tensor, p: number): Tensor {
    return dropout2d(input, p);
  }
}

/** Drops whole channels of [N, C, D, H, W] in training; the identity in evaluation (torch.nn.Dropout3d). See `F.dropout3d`. */
export class Dropout3d extends DropoutModule {
  protected drop(input: Tensor, p: number): Tensor {
    return dropout3d(input, p);
  }
}

/** Dropout that keeps mean and variance, for SELU (torch.nn.AlphaDropout). See `F.alphaDropout`. */
export class AlphaDropout extends DropoutModule {
  protected drop(input: Tensor, p: number): Tensor {
    return alphaDropout(input, p);
  }
}
