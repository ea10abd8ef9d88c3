import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { linear } from '../functional/linear.ts';
import { uniformByFanIn } from '../init/uniform.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** Options of {@link Linear}. */
export interface LinearOptions {
  /** If true, adds a learned bias. Default: true. */
  bias?: boolean;
}

/**
 * x·Wᵀ + b (torch.nn.Linear): […, inFeatures] to […, outFeatures]. Weight and bias are initialized uniformly in
 * ±1/√inFeatures.
 */
export class Linear extends Module {
  /** [outFeatures, inFeatures] */
  readonly weight: Parameter;
  /** [outFeatures] */
  readonly bias: Parameter | undefined;

  constructor(
    ...given: Call<
      [inFeatures: number, outFeatures: number, options?: LinearOptions | undefined],
      'nn.Linear'
    >
  ) {
    const [inFeatures, outFeatures, options] = arranged('nn.Linear', given);
    super();

    requirePositiveInteger('Linear', { inFeatures, outFeatures });
    this.weight = uniformByFanIn([outFeatures, inFeatures], inFeatures);
    this.bias = (options.bias ?? true) ? uniformByFanIn([outFeatures], inFeatures) : undefined;
  }

  /** Size of the last dimension of the input (torch.nn.Linear.in_features). */
  get inFeatures(): number {
    return this.weight.shape[1];
  }

  /** Size of the last dimension of the output (torch.nn.Linear.out_features). */
  get outFeatures(): number {
    return this.weight.shape[0];
  }

  /** […, inFeatures] to […, outFeatures]. */
  forward(input: Tensor): Tensor {
    return linear(input, this.weight, this.bias);
  }

  /** @internal */
  override extraRepr(): string {
    const { inFeatures, outFeatures, bias } = this;
    return writeArguments([], {
      in_features: inFeatures,
      out_features: outFeatures,
      bias: bias !== undefined,
    });
  }
}
