import { where } from '../tensor/combine.ts';
import { zerosLike } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonnegative, unitInterval, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';

/** The distribution of the sizes of numbers whose distribution is symmetric around 0. */
export abstract class HalfLine<Base extends Distribution> extends Distribution {
  /** The distribution of the numbers. */
  readonly baseDist: Base;

  protected constructor(baseDist: Base, options: DistributionOptions) {
    super(baseDist.batchShape, [], options);
    this.baseDist = baseDist;
  }

  get support(): Constraint {
    return nonnegative;
  }

  override get hasRsample(): boolean {
    return true;
  }

  get mode(): Tensor {
    return zerosLike(this.baseDist.mode);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return this.baseDist.rsample(shape).abs();
  }

  /** −∞ below 0. */
  logProb(value: DistributionParameter): Tensor {
    const at = this.valueOf('logProb', value);
    return where(at.ge(0), this.baseDist.logProb(at).add(Math.LN2), -Infinity);
  }

  override entropy(): Tensor {
    return this.baseDist.entropy().sub(Math.LN2);
  }

  override cdf(value: DistributionParameter): Tensor {
    return this.baseDist.cdf(this.valueOf('cdf', value)).mul(2).sub(1);
  }

  override icdf(value: DistributionParameter): Tensor {
    return this.baseDist.icdf(this.valueOf('icdf', value, unitInterval).add(1).div(2));
  }
}
