import { groupNorm, instanceNorm, rmsNorm, type RMSNormOptions } from '../functional/group-norm.ts';
import { ArgumentError } from '../errors.ts';
import type { NormalizationOptions } from '../functional/normalization.ts';
import { filledWith } from '../init/constant.ts';
import type { Parameter } from '../parameter.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from './require.ts';

/** Options of {@link GroupNorm}, and of {@link InstanceNorm1d} and others. */
export interface ChannelNormOptions extends NormalizationOptions {
  /** If true, learns a weight (initially 1) and a bias (initially 0) for each channel. Default: true; InstanceNorm: false. */
  affine?: boolean;
}

const channelNormOptions: OptionNames<ChannelNormOptions> = { eps: true, affine: true };

/** Normalizes groups of channels of each sample (torch.nn.GroupNorm): see `F.groupNorm`. */
export class GroupNorm extends Module {
  /** [numChannels] */
  readonly weight: Parameter | undefined;
  /** [numChannels] */
  readonly bias: Parameter | undefined;
  readonly #groups: number;
  readonly #eps: number;

  /** @param numGroups divides `numChannels` */
  constructor(numGroups: number, numChannels: number, options: ChannelNormOptions = {}) {
    super();
    requireOptions('GroupNorm', options, channelNormOptions);
    requirePositiveInteger('GroupNorm', { numGroups, numChannels });
    if (numChannels % numGroups !== 0) {
      throw new ArgumentError(
        `GroupNorm: expected numGroups to divide numChannels, got ${numGroups} and ${numChannels}.`,
      );
    }
    const { eps = 1e-5, affine = true } = options;
    this.#groups = numGroups;
    this.#eps = eps;
    this.weight = affine ? filledWith(1, [numChannels]) : undefined;
    this.bias = affine ? filledWith(0, [numChannels]) : undefined;
  }

  /** Normalizes [N, C] or [N, C, …]; the shape is kept. */
  forward(input: Tensor): Tensor {
    return groupNorm(input, this.#groups, this.weight, this.bias, { eps: this.#eps });
  }
}

class InstanceNorm extends Module {
  /** [numFeatures] */
  readonly weight: Parameter | undefined;
  /** [numFeatures] */
  readonly bias: Parameter | undefined;
  readonly #eps: number;

  constructor(numFeatures: number, options: ChannelNormOptions = {}) {
    super();
    requireOptions('InstanceNorm', options, channelNormOptions);
    requirePositiveInteger('InstanceNorm', { numFeatures });
    const { eps = 1e-5, affine = false } = options;
    this.#eps = eps;
    this.weight = affine ? filledWith(1, [numFeatures]) : undefined;
    this.bias = affine ? filledWith(0, [numFeatures]) : undefined;
  }

  /** Normalizes each channel of each sample; the shape is kept. */
  forward(input: Tensor): Tensor {
    return instanceNorm(input, this.weight, this.bias, { eps: this.#eps });
  }
}

/** Normalizes each channel of [N, C, L] (torch.nn.InstanceNorm1d without running statistics): see `F.instanceNorm`. */
export class InstanceNorm1d extends InstanceNorm {}

/** Normalizes each channel of [N, C, H, W] (torch.nn.InstanceNorm2d without running statistics): see `F.instanceNorm`. */
export class InstanceNorm2d extends InstanceNorm {}

/** Options of {@link RMSNorm}. */
export interface RMSNormModuleOptions extends RMSNormOptions {
  /** If true, learns a weight, initially 1. Default: true. */
  elementwiseAffine?: boolean;
}

const rmsNormOptions: OptionNames<RMSNormModuleOptions> = { eps: true, elementwiseAffine: true };

/** Divides by the root of the mean square over the last dimensions (torch.nn.RMSNorm): see `F.rmsNorm`. */
export class RMSNorm extends Module {
  /** [...normalizedShape] */
  readonly weight: Parameter | undefined;
  readonly #shape: readonly number[];
  readonly #eps: number | undefined;

  /** @param normalizedShape the last dimensions of every input; a number stands for the last dimension */
  constructor(normalizedShape: number | readonly number[], options: RMSNormModuleOptions = {}) {
    super();
    requireOptions('RMSNorm', options, rmsNormOptions);
    this.#shape = typeof normalizedShape === 'number' ? [normalizedShape] : [...normalizedShape];
    for (const size of this.#shape) requirePositiveInteger('RMSNorm', { normalizedShape: size });
    this.#eps = options.eps;
    this.weight = (options.elementwiseAffine ?? true) ? filledWith(1, this.#shape) : undefined;
  }

  /** Normalizes over the last dimensions; the shape is kept. */
  forward(input: Tensor): Tensor {
    return rmsNorm(input, this.#shape, this.weight, { eps: this.#eps });
  }
}
