import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { zerosLike } from '../tensor/creation.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonnegative, positive, unitInterval, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';

/** Exponential distribution (torch.distributions.Exponential). */
export class Exponential extends Distribution {
  /** 1 / mean */
  readonly rate: Tensor;

  constructor(
    ...given: Call<
      [rate: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Exponential'
    >
  ) {
    const [rate, options] = arranged('distributions.Exponential', given);
    const parameters = broadcastParameters('Exponential', { rate: [rate, positive] }, options);
    super(parameters.rate.shape, [], options);
    this.rate = parameters.rate;
  }

  get support(): Constraint {
    return nonnegative;
  }

  override get hasRsample(): boolean {
    return true;
  }

  get mean(): Tensor {
    return this.rate.reciprocal();
  }

  get mode(): Tensor {
    return zerosLike(this.rate);
  }

  get variance(): Tensor {
    return this.rate.square().reciprocal();
  }

  override get stddev(): Tensor {
    return this.rate.reciprocal();
  }

  override expand(batchShape: readonly number[]): Exponential {
    return new Exponential(this.rate.expand(batchShape), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return rand(this.extendedShape(shape)).neg().log1p().neg().div(this.rate);
  }

  logProb(value: DistributionParameter): Tensor {
    return this.rate.log().sub(this.rate.mul(this.valueOf('logProb', value)));
  }

  override entropy(): Tensor {
    return this.rate.log().neg().add(1);
  }

  override cdf(value: DistributionParameter): Tensor {
    return this.rate.mul(this.valueOf('cdf', value)).neg().expm1().neg();
  }

  override icdf(value: DistributionParameter): Tensor {
    return this.valueOf('icdf', value, unitInterval).neg().log1p().neg().div(this.rate);
  }
}
