import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { dropout, requireProbability } from '../functional/dropout.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';

/** Drops each element with probability p in training; the identity in evaluation (torch.nn.Dropout). See `F.dropout`. */
export class Dropout extends Module {
  readonly #p: number;

  constructor(...given: Call<[p?: number | undefined], 'nn.Dropout'>) {
    const [p = 0.5] = arranged('nn.Dropout', given);
    super();
    requireProbability('Dropout', p);
    this.#p = p;
  }

  /** The shape is kept. */
  forward(input: Tensor): Tensor {
    return dropout(input, this.#p, { training: this.training });
  }
}
