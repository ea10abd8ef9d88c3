import {
  localResponseNorm,
  localResponseNormOptions,
  type LocalResponseNormOptions,
} from '../functional/local-response-norm.ts';
import { requireOptions } from '../checks/require-options.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Normalizes by neighbouring channels (torch.nn.LocalResponseNorm): see `F.localResponseNorm`. */
export class LocalResponseNorm extends Module {
  readonly #size: number;
  readonly #options: LocalResponseNormOptions;

  /** @param size number of channels */
  constructor(size: number, options: LocalResponseNormOptions = {}) {
    super();
    requireOptions('LocalResponseNorm', options, localResponseNormOptions);
    requirePositiveInteger('LocalResponseNorm', { size });
    this.#size = size;
    this.#options = options;
  }

  /** [N, C, …]; the shape is kept. */
  forward(input: Tensor): Tensor {
    return localResponseNorm(input, this.#size, this.#options);
  }
}
