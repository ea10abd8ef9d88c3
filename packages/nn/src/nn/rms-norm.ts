import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { rmsNorm, type RMSNormOptions } from '../functional/rms-norm.ts';
import { filledWith } from '../init/constant.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Options of {@link RMSNorm}. */
export interface RMSNormModuleOptions extends RMSNormOptions {
  /** If true, learns a weight, initially 1. Default: true. */
  elementwiseAffine?: boolean;
}

/** Divides by the root of the mean square over the last dimensions (torch.nn.RMSNorm): see `F.rmsNorm`. */
export class RMSNorm extends Module {
  /** [...normalizedShape] */
  readonly weight: Parameter | undefined;
  readonly #shape: readonly number[];
  readonly #eps: number | undefined;

  /** - `normalizedShape`: the last dimensions of every input; a number stands for the last dimension */
  constructor(
    ...given: Call<
      [normalizedShape: number | readonly number[], options?: RMSNormModuleOptions | undefined],
      'nn.RMSNorm'
    >
  ) {
    const [normalizedShape, options] = arranged('nn.RMSNorm', given);
    super();

    this.#shape = typeof normalizedShape === 'number' ? [normalizedShape] : [...normalizedShape];
    for (const size of this.#shape) requirePositiveInteger('RMSNorm', { normalizedShape: size });
    this.#eps = options.eps;
    this.weight = (options.elementwiseAffine ?? true) ? filledWith(1, this.#shape) : undefined;
  }

  /** Normalizes over the last dimensions; the shape is kept. */
  forward(input: Tensor): Tensor {
    return rmsNorm(input, this.#shape, this.weight, { eps: this.#eps });
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.#shape], {
      eps: this.#eps ?? null,
      elementwise_affine: this.weight !== undefined,
    });
  }
}
