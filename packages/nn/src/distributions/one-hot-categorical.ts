import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { oneHot } from '../functional/one-hot.ts';
import { eye } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { ClassProbabilities } from './class-probabilities.ts';
import { oneHotVector, type Constraint } from './constraint.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';

/** One of C classes as a vector with 1 at the class (torch.distributions.OneHotCategorical). Samples are float32. */
export class OneHotCategorical extends ClassProbabilities {
  /** Either probabilities, [..., C], or unnormalized logarithms of them. Probabilities are divided by their sum. */
  constructor(
    ...given: Call<
      [probs?: Tensor | undefined, logits?: Tensor | undefined, options?: DistributionOptions | undefined],
      'distributions.OneHotCategorical'
    >
  ) {
    const [probs, logits, options] = arranged('distributions.OneHotCategorical', given);
    super(probs, logits, options);
  }

  get support(): Constraint {
    return oneHotVector;
  }

  get mean(): Tensor {
    return this.probs;
  }

  get mode(): Tensor {
    return this.#vectors(this.categorical.mode);
  }

  get variance(): Tensor {
    return this.probs.mul(this.probs.neg().add(1));
  }

  override expand(batchShape: readonly number[]): OneHotCategorical {
    return new OneHotCategorical(...this.expandedArguments(batchShape));
  }

  protected override draw(shape: readonly number[]): Tensor {
    return this.#vectors(this.categorical.sample(shape));
  }

  logProb(value: DistributionParameter): Tensor {
    return this.categorical.logProb(this.valueOf('logProb', value).argmax(-1));
  }

  override entropy(): Tensor {
    return this.categorical.entropy();
  }

  /** The C vectors along a new first dimension, [C, ..., C], expanded to the batch unless `expand` is false. */
  enumerateSupport(expand = true): Tensor {
    const [classes] = this.eventShape;
    const vectors = eye(classes).view(classes, ...this.batchShape.map(() => 1), classes);
    return expand ? vectors.expand(classes, ...this.batchShape, classes) : vectors;
  }

  #vectors(classes: Tensor): Tensor {
    return oneHot(classes, this.eventShape[0]).float();
  }
}

/**
 * A one-hot class whose samples pass the gradient of their probabilities (torch.distributions.OneHotCategoricalStraightThrough):
 * the straight-through estimator, which is biased.
 */
export class OneHotCategoricalStraightThrough extends OneHotCategorical {
  /** See {@link OneHotCategorical}. */
  constructor(
    ...given: Call<
      [probs?: Tensor | undefined, logits?: Tensor | undefined, options?: DistributionOptions | undefined],
      'distributions.OneHotCategoricalStraightThrough'
    >
  ) {
    const [probs, logits, options] = arranged('distributions.OneHotCategoricalStraightThrough', given);
    super(probs, logits, options);
  }

  override get hasRsample(): boolean {
    return true;
  }

  override expand(batchShape: readonly number[]): OneHotCategoricalStraightThrough {
    return new OneHotCategoricalStraightThrough(...this.expandedArguments(batchShape));
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return this.draw(shape).add(this.probs.sub(this.probs.detach()));
  }
}
