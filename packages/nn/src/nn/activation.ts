import { logSoftmax, relu } from '../functional/activation.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';

/** max(x, 0) (torch.nn.ReLU). */
export class ReLU extends Module {
  forward(input: Tensor): Tensor {
    return relu(input);
  }
}

/** x − log Σ exp x along `dim` (torch.nn.LogSoftmax). */
export class LogSoftmax extends Module {
  readonly #dim: number;

  constructor(dim: number) {
    super();
    this.#dim = dim;
  }

  forward(input: Tensor): Tensor {
    return logSoftmax(input, this.#dim);
  }
}
