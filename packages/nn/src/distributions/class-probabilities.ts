import type { Tensor } from '../tensor/tensor.ts';
import { Categorical } from './categorical.ts';
import { Distribution } from './distribution.ts';
import type { DistributionOptions } from './parameters.ts';

/** A distribution of vectors [..., C] with one element for each of C classes, which are drawn by a Categorical. */
export abstract class ClassProbabilities extends Distribution {
  /** Draws the classes. */
  protected readonly categorical: Categorical;
  readonly #isOfProbs: boolean;

  protected constructor(
    probs: Tensor | undefined,
    logits: Tensor | undefined,
    options: DistributionOptions | undefined,
  ) {
    const categorical = new Categorical(probs, logits, options);
    super(categorical.batchShape, categorical.probs.shape.slice(-1), options ?? {});
    this.categorical = categorical;
    this.#isOfProbs = logits === undefined;
  }

  /** [..., C], with sum 1. */
  get probs(): Tensor {
    return this.categorical.probs;
  }

  /** Logarithms of the probabilities, [..., C]. */
  get logits(): Tensor {
    return this.categorical.logits;
  }

  /**
   * The probabilities or logits, and the options, for another batch.
   *
   * @internal
   */
  protected expandedArguments(
    batchShape: readonly number[],
  ): [probs: Tensor | undefined, logits: Tensor | undefined, options: DistributionOptions] {
    const shape = [...batchShape, ...this.eventShape];
    return this.#isOfProbs
      ? [this.probs.expand(shape), undefined, this.options]
      : [undefined, this.logits.expand(shape), this.options];
  }
}
