import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { where } from '../tensor/combine.ts';
import { tensorOf } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { unitInterval, zeroOrOne, type Constraint } from './constraint.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { crossEntropyOfLogits } from './probabilities.ts';
import { SuccessProbability } from './success-probability.ts';

/** 1 with a probability, else 0 (torch.distributions.Bernoulli). After `manualSeed`, samples equal torch's on the CPU. */
export class Bernoulli extends SuccessProbability {
  /** Either the probability of 1, or its logit. */
  constructor(
    ...given: Call<
      [
        probs?: DistributionParameter | undefined,
        logits?: DistributionParameter | undefined,
        options?: DistributionOptions | undefined,
      ],
      'distributions.Bernoulli'
    >
  ) {
    const [probs, logits, options] = arranged('distributions.Bernoulli', given);
    super('Bernoulli', unitInterval, probs, logits, options);
  }

  get support(): Constraint {
    return zeroOrOne;
  }

  get mean(): Tensor {
    return this.probs;
  }

  /** NaN where the probability is 0.5. */
  get mode(): Tensor {
    return where(this.probs.eq(0.5), NaN, this.probs.gt(0.5).float());
  }

  get variance(): Tensor {
    return this.probs.mul(this.probs.neg().add(1));
  }

  override expand(batchShape: readonly number[]): Bernoulli {
    return new Bernoulli(...this.expandedArguments(batchShape));
  }

  protected override draw(shape: readonly number[]): Tensor {
    return this.probs.expand(this.extendedShape(shape)).bernoulli();
  }

  logProb(value: DistributionParameter): Tensor {
    return crossEntropyOfLogits(this.logits, this.valueOf('logProb', value)).neg();
  }

  override entropy(): Tensor {
    return crossEntropyOfLogits(this.logits, this.probs);
  }

  /** The values 0 and 1 along a new first dimension, expanded to the batch unless `expand` is false. */
  enumerateSupport(expand = true): Tensor {
    const values = tensorOf('float32', [2, ...this.batchShape.map(() => 1)], Float32Array.of(0, 1));
    return expand ? values.expand(2, ...this.batchShape) : values;
  }
}
