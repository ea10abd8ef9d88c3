import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { bilinear } from '../functional/bilinear.ts';
import { uniformByFanIn } from '../init/uniform.ts';
import type { Parameter } from '../tensor/parameter.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { type LinearOptions } from './linear.ts';
import { Module } from './module.ts';
import { writeArguments } from './repr.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';

/** x₁ᵀ·W·x₂ + b (torch.nn.Bilinear). Weight and bias are initialized uniformly in ±1/√in1Features. */
export class Bilinear extends Module {
  /** [outFeatures, in1Features, in2Features] */
  readonly weight: Parameter;
  /** [outFeatures] */
  readonly bias: Parameter | undefined;

  constructor(
    ...given: Call<
      [in1Features: number, in2Features: number, outFeatures: number, options?: LinearOptions | undefined],
      'nn.Bilinear'
    >
  ) {
    const [in1Features, in2Features, outFeatures, options] = arranged('nn.Bilinear', given);
    super();

    requirePositiveInteger('Bilinear', { in1Features, in2Features, outFeatures });
    this.weight = uniformByFanIn([outFeatures, in1Features, in2Features], in1Features);
    this.bias = (options.bias ?? true) ? uniformByFanIn([outFeatures], in1Features) : undefined;
  }

  /** […, in1Features] and […, in2Features] to […, outFeatures]. */
  forward(input1: Tensor, input2: Tensor): Tensor {
    return bilinear(input1, input2, this.weight, this.bias);
  }

  /** @internal */
  override extraRepr(): string {
    const [outputs, in1, in2] = this.weight.shape;
    const bias = this.bias !== undefined;
    return writeArguments([], { in1_features: in1, in2_features: in2, out_features: outputs, bias });
  }
}
