import { dropout, requireProbability } from '../functional/dropout.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';

/** In training, drops each element at a probability of p (torch.nn.Dropout): see `F.dropout`. In evaluation lets everything through. */
export class Dropout extends Module {
  readonly #p: number;

  constructor(p = 0.5) {
    super();
    requireProbability('Dropout', p);
    this.#p = p;
  }

  forward(input: Tensor): Tensor {
    return dropout(input, this.#p, { training: this.training });
  }
}
