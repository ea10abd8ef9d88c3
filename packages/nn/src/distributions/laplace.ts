import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { unitInterval } from './constraint.ts';
import { LocationScale } from './location-scale.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';

/** Laplace distribution (torch.distributions.Laplace): exponential distances on both sides of `loc`. */
export class Laplace extends LocationScale {
  constructor(
    ...given: Call<
      [loc: DistributionParameter, scale: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Laplace'
    >
  ) {
    const [loc, scale, options] = arranged('distributions.Laplace', given);
    super('Laplace', loc, scale, options);
  }

  get variance(): Tensor {
    return this.scale.square().mul(2);
  }

  override get stddev(): Tensor {
    return this.scale.mul(Math.SQRT2);
  }

  override expand(batchShape: readonly number[]): Laplace {
    return new Laplace(this.loc.expand(batchShape), this.scale.expand(batchShape), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    // Above −1, so that the logarithm is finite.
    const uniform = rand(this.extendedShape(shape))
      .mul(2)
      .sub(1)
      .clamp(2 ** -23 - 1);
    return this.loc.sub(this.scale.mul(uniform.sign()).mul(uniform.abs().neg().log1p()));
  }

  logProb(value: DistributionParameter): Tensor {
    const distance = this.valueOf('logProb', value).sub(this.loc).abs().div(this.scale);
    return this.scale.mul(2).log().neg().sub(distance);
  }

  override entropy(): Tensor {
    return this.scale.mul(2).log().add(1);
  }

  override cdf(value: DistributionParameter): Tensor {
    const distance = this.valueOf('cdf', value).sub(this.loc);
    const tail = distance.abs().div(this.scale).neg().expm1();
    return distance.sign().mul(tail).mul(-0.5).add(0.5);
  }

  override icdf(value: DistributionParameter): Tensor {
    const term = this.valueOf('icdf', value, unitInterval).sub(0.5);
    return this.loc.sub(this.scale.mul(term.sign()).mul(term.abs().mul(-2).log1p()));
  }
}
