import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { unitInterval } from './constraint.ts';
import { LocationScale } from './location-scale.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { eulerGamma } from './special-functions.ts';

/** Gumbel distribution (torch.distributions.Gumbel), that of the largest of many numbers. After `manualSeed`, samples equal torch's on the CPU. */
export class Gumbel extends LocationScale {
  constructor(
    ...given: Call<
      [loc: DistributionParameter, scale: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Gumbel'
    >
  ) {
    const [loc, scale, options] = arranged('distributions.Gumbel', given);
    super('Gumbel', loc, scale, options);
  }

  /** loc + 0.577·scale, with Euler's constant. */
  override get mean(): Tensor {
    return this.scale.mul(eulerGamma).add(this.loc);
  }

  get variance(): Tensor {
    return this.stddev.square();
  }

  override get stddev(): Tensor {
    return this.scale.mul(Math.PI / Math.sqrt(6));
  }

  override expand(batchShape: readonly number[]): Gumbel {
    return new Gumbel(this.loc.expand(batchShape), this.scale.expand(batchShape), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    // Within (0, 1), so that both logarithms are finite.
    const uniform = rand(this.extendedShape(shape))
      .mul(1 - 2 ** -23)
      .add(2 ** -126);
    return this.#quantile(uniform);
  }

  logProb(value: DistributionParameter): Tensor {
    const distance = this.loc.sub(this.valueOf('logProb', value)).div(this.scale);
    return distance.sub(distance.exp()).sub(this.scale.log());
  }

  override entropy(): Tensor {
    return this.scale.log().add(1 + eulerGamma);
  }

  override cdf(value: DistributionParameter): Tensor {
    return this.loc.sub(this.valueOf('cdf', value)).div(this.scale).exp().neg().exp();
  }

  override icdf(value: DistributionParameter): Tensor {
    return this.#quantile(this.valueOf('icdf', value, unitInterval));
  }

  #quantile(probability: Tensor): Tensor {
    return this.loc.sub(this.scale.mul(probability.log().neg().log()));
  }
}
