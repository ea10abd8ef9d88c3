import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { dropout, requireProbability } from '../functional/dropout.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { InplaceOptions } from './inplace-activation.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';

/** Drops each element with probability p in training; the identity in evaluation (torch.nn.Dropout). See `F.dropout`. */
export class Dropout extends Module {
  readonly #p: number;
  readonly #inplace: boolean;

  constructor(...given: Call<[p?: number | undefined, options?: InplaceOptions | undefined], 'nn.Dropout'>) {
    const [p = 0.5, { inplace = false }] = arranged('nn.Dropout', given);
    super();
    requireProbability('Dropout', p);
    this.#p = p;
    this.#inplace = inplace;
  }

  /** The shape is kept. */
  forward(input: Tensor): Tensor {
    return dropout(input, this.#p, { training: this.training });
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([], { p: this.#p, inplace: this.#inplace });
  }
}
