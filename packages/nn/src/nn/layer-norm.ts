import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { layerNorm, type NormalizationOptions } from '../functional/normalization.ts';
import { filledWith } from '../init/constant.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositive, requirePositiveInteger } from '../checks/require-number.ts';

/** Options of {@link LayerNorm}. */
export interface LayerNormOptions extends NormalizationOptions {
  /** If true, learns a weight (initially 1) and a bias (initially 0). Default: true. */
  elementwiseAffine?: boolean;
  /** If false, learns only the weight. Default: true. */
  bias?: boolean;
}

/** Normalizes over the last dimensions (torch.nn.LayerNorm): see `F.layerNorm`. */
export class LayerNorm extends Module {
  /** [...normalizedShape] */
  readonly weight: Parameter | undefined;
  /** [...normalizedShape] */
  readonly bias: Parameter | undefined;
  readonly #shape: readonly number[];
  readonly #eps: number;

  /** - `normalizedShape`: the last dimensions of every input; a number stands for the last dimension */
  constructor(
    ...given: Call<
      [normalizedShape: number | readonly number[], options?: LayerNormOptions | undefined],
      'nn.LayerNorm'
    >
  ) {
    const [normalizedShape, options] = arranged('nn.LayerNorm', given);
    super();

    const { eps = 1e-5, elementwiseAffine = true, bias = true } = options;
    const shape = typeof normalizedShape === 'number' ? [normalizedShape] : [...normalizedShape];
    for (const dimension of shape) requirePositiveInteger('LayerNorm', { normalizedShape: dimension });
    requirePositive('LayerNorm', { eps });
    this.#shape = shape;
    this.#eps = eps;
    this.weight = elementwiseAffine ? filledWith(1, shape) : undefined;
    this.bias = elementwiseAffine && bias ? filledWith(0, shape) : undefined;
  }

  /** Normalizes over the last dimensions, which are `normalizedShape`; the shape is kept. */
  forward(input: Tensor): Tensor {
    return layerNorm(input, this.#shape, this.weight, this.bias, { eps: this.#eps });
  }

  /** @internal */
  override extraRepr(): string {
    return writeArguments([this.#shape], {
      eps: this.#eps,
      elementwise_affine: this.weight !== undefined,
      bias: this.bias !== undefined,
    });
  }
}
