import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { randn } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { unitInterval } from './constraint.ts';
import { LocationScale } from './location-scale.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { erfinv } from './special-functions.ts';

const halfLogOf2Pi = 0.5 * Math.log(2 * Math.PI);

/** Normal distribution (torch.distributions.Normal). After `manualSeed`, samples equal torch's on the CPU. */
export class Normal extends LocationScale {
  constructor(
    ...given: Call<
      [loc: DistributionParameter, scale: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Normal'
    >
  ) {
    const [loc, scale, options] = arranged('distributions.Normal', given);
    super('Normal', loc, scale, options);
  }

  get variance(): Tensor {
    return this.scale.square();
  }

  override get stddev(): Tensor {
    return this.scale;
  }

  override expand(batchShape: readonly number[]): Normal {
    return new Normal(this.loc.expand(batchShape), this.scale.expand(batchShape), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return randn(this.extendedShape(shape)).mul(this.scale).add(this.loc);
  }

  logProb(value: DistributionParameter): Tensor {
    const distance = this.valueOf('logProb', value).sub(this.loc).div(this.scale);
    return distance.square().mul(-0.5).sub(this.scale.log()).sub(halfLogOf2Pi);
  }

  override entropy(): Tensor {
    return this.scale.log().add(0.5 + halfLogOf2Pi);
  }

  override cdf(value: DistributionParameter): Tensor {
    const distance = this.valueOf('cdf', value).sub(this.loc).div(this.scale);
    return distance.mul(Math.SQRT1_2).erf().add(1).mul(0.5);
  }

  override icdf(value: DistributionParameter): Tensor {
    const quantile = erfinv(this.valueOf('icdf', value, unitInterval).mul(2).sub(1));
    return this.loc.add(this.scale.mul(quantile.mul(Math.SQRT2)));
  }
}
