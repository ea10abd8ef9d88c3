import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { where } from '../tensor/combine.ts';
import { zerosLike } from '../tensor/creation.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { nonnegativeInteger, unitInterval, type Constraint } from './constraint.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { crossEntropyOfLogits } from './probabilities.ts';
import { SuccessProbability } from './success-probability.ts';

/** The number of failures before the first success (torch.distributions.Geometric). After `manualSeed`, samples equal torch's on the CPU. */
export class Geometric extends SuccessProbability {
  /** Either the probability of success, or its logit. */
  constructor(
    ...given: Call<
      [
        probs?: DistributionParameter | undefined,
        logits?: DistributionParameter | undefined,
        options?: DistributionOptions | undefined,
      ],
      'distributions.Geometric'
    >
  ) {
    const [probs, logits, options] = arranged('distributions.Geometric', given);
    super('Geometric', positiveProbability, probs, logits, options);
  }

  get support(): Constraint {
    return nonnegativeInteger;
  }

  get mean(): Tensor {
    return this.probs.reciprocal().sub(1);
  }

  get mode(): Tensor {
    return zerosLike(this.probs);
  }

  get variance(): Tensor {
    return this.mean.div(this.probs);
  }

  override expand(batchShape: readonly number[]): Geometric {
    return new Geometric(...this.expandedArguments(batchShape));
  }

  protected override draw(shape: readonly number[]): Tensor {
    // Above 0, so that the logarithm is finite.
    const uniform = rand(this.extendedShape(shape)).clamp(2 ** -126);
    return uniform.log().div(this.probs.neg().log1p()).floor();
  }

  logProb(value: DistributionParameter): Tensor {
    const failures = this.valueOf('logProb', value);
    // 0·log(0) is 0: no failure where success is certain.
    const isNone = failures.eq(0).logicalAnd(this.probs.eq(1));
    const ofFailure = where(isNone, 0, this.probs).neg().log1p();
    return failures.mul(ofFailure).add(this.probs.log());
  }

  override entropy(): Tensor {
    return crossEntropyOfLogits(this.logits, this.probs).div(this.probs);
  }
}

const positiveProbability: Constraint = {
  expected: 'numbers above 0 and up to 1',
  accepts: (x) => x > 0 && unitInterval.accepts(x),
};
