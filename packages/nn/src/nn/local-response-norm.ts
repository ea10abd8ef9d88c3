import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { localResponseNorm, type LocalResponseNormOptions } from '../functional/local-response-norm.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { floatDefault, writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Normalizes by neighbouring channels (torch.nn.LocalResponseNorm): see `F.localResponseNorm`. */
export class LocalResponseNorm extends Module {
  readonly #size: number;
  readonly #options: LocalResponseNormOptions;

  /** - `size`: number of channels */
  constructor(
    ...given: Call<[size: number, options?: LocalResponseNormOptions | undefined], 'nn.LocalResponseNorm'>
  ) {
    const [size, options] = arranged('nn.LocalResponseNorm', given);
    super();

    requirePositiveInteger('LocalResponseNorm', { size });
    this.#size = size;
    this.#options = options;
  }

  /** [N, C, …]; the shape is kept. */
  forward(input: Tensor): Tensor {
    return localResponseNorm(input, this.#size, this.#options);
  }

  /** @internal */
  override extraRepr(): string {
    const { alpha = 1e-4, beta = 0.75, k = 1 } = this.#options;
    return writeArguments([this.#size], { alpha, beta, k: floatDefault(k, 1) });
  }
}
