import type { Tensor } from '../tensor/tensor.ts';
import { real, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { logitsOf, requireOne } from './probabilities.ts';

/** A distribution of trials with one probability of success, given as such or as its logit. */
export abstract class SuccessProbability extends Distribution {
  /** Probability of success. */
  readonly probs: Tensor;
  /** log(p / (1 − p)) */
  readonly logits: Tensor;
  readonly #isOfProbs: boolean;

  /**
   * @param name of the class, in errors
   * @param probability which probabilities it has
   */
  protected constructor(
    name: string,
    probability: Constraint,
    probs: DistributionParameter | undefined,
    logits: DistributionParameter | undefined,
    options: DistributionOptions,
  ) {
    requireOne(name, probs, logits);
    const known =
      logits === undefined
        ? broadcastParameters(name, { probs: [probs!, probability] }, options).probs
        : broadcastParameters(name, { logits: [logits, real] }, options).logits;
    super(known.shape, [], options);
    this.#isOfProbs = logits === undefined;
    this.probs = logits === undefined ? known : known.sigmoid();
    this.logits = logits === undefined ? logitsOf(known) : known;
  }

  /**
   * The arguments of the constructor for another batch.
   *
   * @internal
   */
  protected expandedArguments(
    batchShape: readonly number[],
  ): [probs: Tensor | undefined, logits: Tensor | undefined, options: DistributionOptions] {
    return this.#isOfProbs
      ? [this.probs.expand(batchShape), undefined, this.options]
      : [undefined, this.logits.expand(batchShape), this.options];
  }
}
