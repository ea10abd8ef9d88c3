import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonnegative, nonnegativeInteger, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { samplePoisson } from './poisson-sampling.ts';
import { lgamma } from './special-functions.ts';

/** The number of independent events in a unit of time (torch.distributions.Poisson). Samples are float32. */
export class Poisson extends Distribution {
  /** Mean number of events, of at least 0. */
  readonly rate: Tensor;

  constructor(
    ...given: Call<
      [rate: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Poisson'
    >
  ) {
    const [rate, options] = arranged('distributions.Poisson', given);
    const parameters = broadcastParameters('Poisson', { rate: [rate, nonnegative] }, options);
    super(parameters.rate.shape, [], options);
    this.rate = parameters.rate;
  }

  get support(): Constraint {
    return nonnegativeInteger;
  }

  get mean(): Tensor {
    return this.rate;
  }

  get mode(): Tensor {
    return this.rate.floor();
  }

  get variance(): Tensor {
    return this.rate;
  }

  override expand(batchShape: readonly number[]): Poisson {
    return new Poisson(this.rate.expand(batchShape), this.options);
  }

  protected override draw(shape: readonly number[]): Tensor {
    return samplePoisson(this.rate.expand(this.extendedShape(shape)));
  }

  logProb(value: DistributionParameter): Tensor {
    const count = this.valueOf('logProb', value);
    return count
      .xlogy(this.rate)
      .sub(this.rate)
      .sub(lgamma(count.add(1)));
  }
}
