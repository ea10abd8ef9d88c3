import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { fullLike } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Cauchy } from './cauchy.ts';
import { HalfLine } from './half-line.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';

/** The sizes of Cauchy numbers around 0 (torch.distributions.HalfCauchy). */
export class HalfCauchy extends HalfLine<Cauchy> {
  constructor(
    ...given: Call<
      [scale: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.HalfCauchy'
    >
  ) {
    const [scale, options] = arranged('distributions.HalfCauchy', given);
    super(new Cauchy(0, scale, options), options);
  }

  /** The median. */
  get scale(): Tensor {
    return this.baseDist.scale;
  }

  /** ∞ */
  get mean(): Tensor {
    return fullLike(this.scale, Infinity);
  }

  /** ∞ */
  get variance(): Tensor {
    return fullLike(this.scale, Infinity);
  }

  override expand(batchShape: readonly number[]): HalfCauchy {
    return new HalfCauchy(this.scale.expand(batchShape), this.options);
  }
}
