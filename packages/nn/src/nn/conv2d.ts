import { ArgumentError } from '../errors.ts';
import { conv2d, conv2dOptions, type Conv2dOptions } from '../functional/convolution.ts';
import { pairOf, type Pair } from '../functional/pair.ts';
import { uniformByFanIn } from '../init/uniform.ts';
import type { Parameter } from '../parameter.ts';
import type { Tensor } from '../tensor.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from './require.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Options of {@link Conv2d}. */
export interface Conv2dModuleOptions extends Conv2dOptions {
  /** If true, adds a learned bias. Default: true. */
  bias?: boolean;
}

const moduleOptions: OptionNames<Conv2dModuleOptions> = { ...conv2dOptions, bias: true };

/**
 * 2-D convolution (torch.nn.Conv2d): [N, inChannels, H, W] to [N, outChannels, oH, oW].
 * Weight and bias are initialized uniformly in ±1/√(inChannels / groups · kH · kW).
 */
export class Conv2d extends Module {
  /** [outChannels, inChannels / groups, kH, kW] */
  readonly weight: Parameter;
  /** [outChannels] */
  readonly bias: Parameter | undefined;
  readonly #options: Conv2dOptions;

  constructor(inChannels: number, outChannels: number, kernelSize: Pair, options: Conv2dModuleOptions = {}) {
    super();
    requireOptions('Conv2d', options, moduleOptions);
    const [height, width] = pairOf(kernelSize);
    const { bias = true, ...ofConvolution } = options;
    const { groups = 1 } = ofConvolution;
    requirePositiveInteger('Conv2d', {
      inChannels,
      outChannels,
      kernelHeight: height,
      kernelWidth: width,
      groups,
    });
    if (inChannels % groups !== 0 || outChannels % groups !== 0) {
      throw new ArgumentError(
        `Conv2d: groups must divide inChannels and outChannels, got ${groups} groups, ${inChannels} inChannels and ${outChannels} outChannels.`,
      );
    }
    const fanIn = (inChannels / groups) * height * width;
    this.#options = ofConvolution;
    this.weight = uniformByFanIn([outChannels, inChannels / groups, height, width], fanIn);
    this.bias = bias ? uniformByFanIn([outChannels], fanIn) : undefined;
  }

  /** [N, inChannels, H, W] to [N, outChannels, oH, oW]. */
  forward(input: Tensor): Tensor {
    return conv2d(input, this.weight, this.bias, this.#options);
  }
}
