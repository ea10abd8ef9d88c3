import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Tensor } from '../tensor/tensor.ts';
import type { Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { sumOfLast } from './sum-of-last.ts';

/** Makes the last dimensions of a batch dimensions of one event (torch.distributions.Independent): `logProb` sums over them. */
export class Independent extends Distribution {
  /** The distribution of the elements. */
  readonly baseDist: Distribution;
  /** Number of dimensions that are summed. */
  readonly reinterpretedBatchNdims: number;

  /** @throws ArgumentError unless the batch has that many dimensions */
  constructor(
    ...given: Call<
      [
        baseDistribution: Distribution,
        reinterpretedBatchNdims: number,
        options?: DistributionOptions | undefined,
      ],
      'distributions.Independent'
    >
  ) {
    const [base, count, options] = arranged('distributions.Independent', given);
    const { batchShape, eventShape } = base;
    if (!Number.isInteger(count) || count < 0 || count > batchShape.length) {
      throw new ArgumentError(
        `Independent: expected reinterpretedBatchNdims from 0 to ${batchShape.length}, got ${count}.`,
      );
    }
    const split = batchShape.length - count;
    super(batchShape.slice(0, split), [...batchShape.slice(split), ...eventShape], options);
    this.baseDist = base;
    this.reinterpretedBatchNdims = count;
  }

  get support(): Constraint {
    return this.baseDist.support;
  }

  override get hasRsample(): boolean {
    return this.baseDist.hasRsample;
  }

  get mean(): Tensor {
    return this.baseDist.mean;
  }

  get mode(): Tensor {
    return this.baseDist.mode;
  }

  get variance(): Tensor {
    return this.baseDist.variance;
  }

  override get stddev(): Tensor {
    return this.baseDist.stddev;
  }

  override expand(batchShape: readonly number[]): Independent {
    const reinterpreted = this.eventShape.slice(0, this.reinterpretedBatchNdims);
    const base = this.baseDist.expand([...batchShape, ...reinterpreted]);
    return new Independent(base, this.reinterpretedBatchNdims, this.options);
  }

  protected override draw(shape: readonly number[]): Tensor {
    return this.baseDist.sample(shape);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return this.baseDist.rsample(shape);
  }

  logProb(value: DistributionParameter): Tensor {
    return sumOfLast(this.baseDist.logProb(value), this.reinterpretedBatchNdims);
  }

  override entropy(): Tensor {
    return sumOfLast(this.baseDist.entropy(), this.reinterpretedBatchNdims);
  }
}
