import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { positive } from './constraint.ts';
import { Gamma } from './gamma.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';

/** The sum of the squares of `df` standard normal numbers (torch.distributions.Chi2). */
export class Chi2 extends Gamma {
  /** - `df`: degrees of freedom, above 0 */
  constructor(
    ...given: Call<
      [df: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Chi2'
    >
  ) {
    const [df, options] = arranged('distributions.Chi2', given);
    const parameters = broadcastParameters('Chi2', { df: [df, positive] }, options);
    super(parameters.df.mul(0.5), 0.5, options);
  }

  /** Degrees of freedom. */
  get df(): Tensor {
    return this.concentration.mul(2);
  }

  override expand(batchShape: readonly number[]): Chi2 {
    return new Chi2(this.df.expand(batchShape), this.options);
  }
}
