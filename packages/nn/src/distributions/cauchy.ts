import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { fullLike } from '../tensor/creation.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { unitInterval } from './constraint.ts';
import { LocationScale } from './location-scale.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';

/** Cauchy distribution (torch.distributions.Cauchy), that of the ratio of two normal numbers. It has no mean. */
export class Cauchy extends LocationScale {
  constructor(
    ...given: Call<
      [loc: DistributionParameter, scale: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Cauchy'
    >
  ) {
    const [loc, scale, options] = arranged('distributions.Cauchy', given);
    super('Cauchy', loc, scale, options);
  }

  /** NaN: its integral does not converge. */
  override get mean(): Tensor {
    return fullLike(this.loc, NaN);
  }

  /** NaN: its integral does not converge. */
  get variance(): Tensor {
    return fullLike(this.loc, NaN);
  }

  override expand(batchShape: readonly number[]): Cauchy {
    return new Cauchy(this.loc.expand(batchShape), this.scale.expand(batchShape), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return this.#quantile(rand(this.extendedShape(shape)));
  }

  logProb(value: DistributionParameter): Tensor {
    const distance = this.valueOf('logProb', value).sub(this.loc).div(this.scale);
    return distance.square().log1p().add(this.scale.log()).add(Math.log(Math.PI)).neg();
  }

  override entropy(): Tensor {
    return this.scale.log().add(Math.log(4 * Math.PI));
  }

  override cdf(value: DistributionParameter): Tensor {
    const distance = this.valueOf('cdf', value).sub(this.loc).div(this.scale);
    return distance.atan().div(Math.PI).add(0.5);
  }

  override icdf(value: DistributionParameter): Tensor {
    return this.#quantile(this.valueOf('icdf', value, unitInterval));
  }

  #quantile(probability: Tensor): Tensor {
    return probability.sub(0.5).mul(Math.PI).tan().mul(this.scale).add(this.loc);
  }
}
