import { linear } from '../functional/linear.ts';
import { uniformByFanIn } from '../init/uniform.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';

/** Options of {@link Linear}. */
export interface LinearOptions {
  /** If true, adds a learned bias. Default: true. */
  bias?: boolean;
}

export const linearOptions: OptionNames<LinearOptions> = { bias: true };

/**
 * x·Wᵀ + b (torch.nn.Linear): […, inFeatures] to […, outFeatures]. Weight and bias are initialized uniformly in
 * ±1/√inFeatures.
 */
export class Linear extends Module {
  /** [outFeatures, inFeatures] */
  readonly weight: Parameter;
  /** [outFeatures] */
  readonly bias: Parameter | undefined;

  constructor(inFeatures: number, outFeatures: number, options: LinearOptions = {}) {
    super();
    requireOptions('Linear', options, linearOptions);
    requirePositiveInteger('Linear', { inFeatures, outFeatures });
    this.weight = uniformByFanIn([outFeatures, inFeatures], inFeatures);
    this.bias = (options.bias ?? true) ? uniformByFanIn([outFeatures], inFeatures) : undefined;
  }

  /** […, inFeatures] to […, outFeatures]. */
  forward(input: Tensor): Tensor {
    return linear(input, this.weight, this.bias);
  }
}
