import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { HalfLine } from './half-line.ts';
import { Normal } from './normal.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';

/** The sizes of normal numbers with mean 0 (torch.distributions.HalfNormal). After `manualSeed`, samples equal torch's on the CPU. */
export class HalfNormal extends HalfLine<Normal> {
  constructor(
    ...given: Call<
      [scale: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.HalfNormal'
    >
  ) {
    const [scale, options] = arranged('distributions.HalfNormal', given);
    super(new Normal(0, scale, options), options);
  }

  /** Standard deviation of the normal numbers. */
  get scale(): Tensor {
    return this.baseDist.scale;
  }

  get mean(): Tensor {
    return this.scale.mul(Math.sqrt(2 / Math.PI));
  }

  get variance(): Tensor {
    return this.scale.square().mul(1 - 2 / Math.PI);
  }

  override expand(batchShape: readonly number[]): HalfNormal {
    return new HalfNormal(this.scale.expand(batchShape), this.options);
  }
}
