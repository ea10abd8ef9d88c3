import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Normal } from './normal.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { TransformedDistribution } from './transformed-distribution.ts';
import { ExpTransform } from './transforms.ts';

/** Numbers whose logarithms are normal (torch.distributions.LogNormal). After `manualSeed`, samples equal torch's on the CPU. */
export class LogNormal extends TransformedDistribution<Normal> {
  readonly #normal: Normal;

  /** Mean and standard deviation of the logarithms. */
  constructor(
    ...given: Call<
      [loc: DistributionParameter, scale: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.LogNormal'
    >
  ) {
    const [loc, scale, options] = arranged('distributions.LogNormal', given);
    const normal = new Normal(loc, scale, options);
    super(normal, new ExpTransform(), options);
    this.#normal = normal;
  }

  /** Mean of the logarithms. */
  get loc(): Tensor {
    return this.#normal.loc;
  }

  /** Standard deviation of the logarithms. */
  get scale(): Tensor {
    return this.#normal.scale;
  }

  override get mean(): Tensor {
    return this.scale.square().div(2).add(this.loc).exp();
  }

  override get mode(): Tensor {
    return this.loc.sub(this.scale.square()).exp();
  }

  override get variance(): Tensor {
    const square = this.scale.square();
    return square.expm1().mul(this.loc.mul(2).add(square).exp());
  }

  override expand(batchShape: readonly number[]): LogNormal {
    return new LogNormal(this.loc.expand(batchShape), this.scale.expand(batchShape), this.options);
  }

  override entropy(): Tensor {
    return this.#normal.entropy().add(this.loc);
  }
}
