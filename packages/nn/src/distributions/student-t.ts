import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { where } from '../tensor/combine.ts';
import { randn } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Chi2 } from './chi2.ts';
import { positive, real, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { digamma, lgamma } from './special-functions.ts';

/** Student's t-distribution (torch.distributions.StudentT), whose tails are heavier than those of a normal one. */
export class StudentT extends Distribution {
  /** Degrees of freedom, above 0. */
  readonly df: Tensor;
  /** The value of the highest density. */
  readonly loc: Tensor;
  /** Scale. */
  readonly scale: Tensor;
  readonly #chi2: Chi2;

  /** `loc` and `scale`: default 0 and 1 */
  constructor(
    ...given: Call<
      [
        df: DistributionParameter,
        loc?: DistributionParameter | undefined,
        scale?: DistributionParameter | undefined,
        options?: DistributionOptions | undefined,
      ],
      'distributions.StudentT'
    >
  ) {
    const [df, loc = 0, scale = 1, options] = arranged('distributions.StudentT', given);
    const parameters = broadcastParameters(
      'StudentT',
      { df: [df, positive], loc: [loc, real], scale: [scale, positive] },
      options,
    );
    super(parameters.df.shape, [], options);
    this.df = parameters.df;
    this.loc = parameters.loc;
    this.scale = parameters.scale;
    this.#chi2 = new Chi2(this.df, options);
  }

  get support(): Constraint {
    return real;
  }

  override get hasRsample(): boolean {
    return true;
  }

  /** NaN for up to 1 degree of freedom. */
  get mean(): Tensor {
    return where(this.df.le(1), NaN, this.loc);
  }

  get mode(): Tensor {
    return this.loc;
  }

  /** ∞ for up to 2 degrees of freedom, NaN for up to 1. */
  get variance(): Tensor {
    const { df } = this;
    const isFinite = df.gt(2);
    const freedom = where(isFinite, df, 3);
    const finite = this.scale.square().mul(freedom).div(freedom.sub(2));
    return where(isFinite, finite, where(df.gt(1), Infinity, NaN));
  }

  override expand(batchShape: readonly number[]): StudentT {
    return new StudentT(
      this.df.expand(batchShape),
      this.loc.expand(batchShape),
      this.scale.expand(batchShape),
      this.options,
    );
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    const normal = randn(this.extendedShape(shape));
    const ratio = normal.mul(this.#chi2.rsample(shape).div(this.df).rsqrt());
    return ratio.mul(this.scale).add(this.loc);
  }

  logProb(value: DistributionParameter): Tensor {
    const { df } = this;
    const distance = this.valueOf('logProb', value).sub(this.loc).div(this.scale);
    const half = df.add(1).mul(0.5);
    const factor = this.scale
      .log()
      .add(df.mul(Math.PI).log().mul(0.5))
      .add(lgamma(df.mul(0.5)))
      .sub(lgamma(half));
    return half.neg().mul(distance.square().div(df).log1p()).sub(factor);
  }

  override entropy(): Tensor {
    const { df } = this;
    const half = df.add(1).mul(0.5);
    const logBeta = lgamma(df.mul(0.5))
      .add(0.5 * Math.log(Math.PI))
      .sub(lgamma(half));
    const slopes = half.mul(digamma(half).sub(digamma(df.mul(0.5))));
    return this.scale.log().add(slopes).add(df.log().mul(0.5)).add(logBeta);
  }
}
