import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { oneHot } from '../functional/one-hot.ts';
import { where } from '../tensor/combine.ts';
import { tensorOf } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { requirePositiveInteger } from '../checks/require-number.ts';
import { ClassProbabilities } from './class-probabilities.ts';
import { countsOf, type Constraint } from './constraint.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { lgamma } from './special-functions.ts';

/** How often each of C classes occurs in `totalCount` draws (torch.distributions.Multinomial): vectors [..., C] of float32. */
export class Multinomial extends ClassProbabilities {
  /** Number of draws. */
  readonly totalCount: number;

  /** The number of draws, and either probabilities, [..., C], or unnormalized logarithms of them. */
  constructor(
    ...given: Call<
      [
        totalCount?: number | undefined,
        probs?: Tensor | undefined,
        logits?: Tensor | undefined,
        options?: DistributionOptions | undefined,
      ],
      'distributions.Multinomial'
    >
  ) {
    const [totalCount = 1, probs, logits, options] = arranged('distributions.Multinomial', given);
    requirePositiveInteger('Multinomial', { totalCount });
    super(probs, logits, options);
    this.totalCount = totalCount;
  }

  get support(): Constraint {
    return countsOf(this.totalCount);
  }

  get mean(): Tensor {
    return this.probs.mul(this.totalCount);
  }

  /** @throws ArgumentError: it has no formula */
  get mode(): Tensor {
    throw this.withoutFormula('mode');
  }

  get variance(): Tensor {
    return this.mean.mul(this.probs.neg().add(1));
  }

  override expand(batchShape: readonly number[]): Multinomial {
    return new Multinomial(this.totalCount, ...this.expandedArguments(batchShape));
  }

  protected override draw(shape: readonly number[]): Tensor {
    const classes = this.categorical.sample([this.totalCount, ...shape]);
    return oneHot(classes, this.eventShape[0]).sum(0).float();
  }

  logProb(value: DistributionParameter): Tensor {
    const counts = this.valueOf('logProb', value);
    const isAbsent = counts.eq(0).logicalAnd(this.logits.eq(-Infinity));
    const powers = where(isAbsent, 0, this.logits).mul(counts).sum(-1);
    const orders = lgamma(counts.sum(-1).add(1)).sub(lgamma(counts.add(1)).sum(-1));
    return orders.add(powers);
  }

  override entropy(): Tensor {
    const { totalCount } = this;
    // E[log k!] of each class, whose count k is binomial; log 0! and log 1! are 0.
    const counts = Array.from({ length: totalCount + 1 }, (_, k) => k);
    const factorials = counts.map(logFactorial);
    const column = (data: readonly number[]) =>
      tensorOf('float32', [data.length, ...this.probs.shape.map(() => 1)], Float32Array.from(data));
    const choices = factorials.map((one, k) => factorials[totalCount] - one - factorials[totalCount - k]);
    const taken = column(counts).mul(this.logits);
    const left = column(counts.toReversed()).mul(this.probs.neg().log1p());
    // 0·log(0) is 0.
    const finite = (x: Tensor) => where(x.isnan(), 0, x);
    const probabilities = finite(taken).add(finite(left)).add(column(choices)).exp();
    const expected = probabilities.mul(column(factorials)).sum([0, -1]);
    const draws = this.categorical.entropy().mul(totalCount);
    return draws.sub(factorials[totalCount]).add(expected);
  }
}

function logFactorial(count: number): number {
  let sum = 0;
  for (let i = 2; i <= count; i += 1) sum += Math.log(i);
  return sum;
}
