import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonnegative, positive, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { standardGamma } from './gamma-sampling.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { digamma, lgamma } from './special-functions.ts';

/** Gamma distribution (torch.distributions.Gamma). Unlike in torch, it has no `cdf`. */
export class Gamma extends Distribution {
  /** Shape of the density, often α. */
  readonly concentration: Tensor;
  /** 1 / scale, often β. */
  readonly rate: Tensor;

  constructor(
    ...given: Call<
      [
        concentration: DistributionParameter,
        rate: DistributionParameter,
        options?: DistributionOptions | undefined,
      ],
      'distributions.Gamma'
    >
  ) {
    const [concentration, rate, options] = arranged('distributions.Gamma', given);
    const parameters = broadcastParameters(
      'Gamma',
      { concentration: [concentration, positive], rate: [rate, positive] },
      options,
    );
    super(parameters.concentration.shape, [], options);
    this.concentration = parameters.concentration;
    this.rate = parameters.rate;
  }

  get support(): Constraint {
    return nonnegative;
  }

  override get hasRsample(): boolean {
    return true;
  }

  get mean(): Tensor {
    return this.concentration.div(this.rate);
  }

  get mode(): Tensor {
    return this.concentration.sub(1).div(this.rate).clamp(0);
  }

  get variance(): Tensor {
    return this.concentration.div(this.rate.square());
  }

  override expand(batchShape: readonly number[]): Gamma {
    return new Gamma(this.concentration.expand(batchShape), this.rate.expand(batchShape), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return standardGamma(this.concentration.expand(this.extendedShape(shape))).div(this.rate);
  }

  logProb(value: DistributionParameter): Tensor {
    const at = this.valueOf('logProb', value);
    const powers = this.concentration.xlogy(this.rate).add(this.concentration.sub(1).xlogy(at));
    return powers.sub(this.rate.mul(at)).sub(lgamma(this.concentration));
  }

  override entropy(): Tensor {
    const { concentration } = this;
    const slope = concentration.neg().add(1).mul(digamma(concentration));
    return concentration.sub(this.rate.log()).add(lgamma(concentration)).add(slope);
  }
}
