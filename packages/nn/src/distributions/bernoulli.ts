import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { where } from '../tensor/combine.ts';
import { tensorOf } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { real, unitInterval, zeroOrOne, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { crossEntropyOfLogits, logitsOf, requireOne } from './probabilities.ts';

/** 1 with a probability, else 0 (torch.distributions.Bernoulli). After `manualSeed`, samples equal torch's on the CPU. */
export class Bernoulli extends Distribution {
  /** Probability of 1. */
  readonly probs: Tensor;
  /** log(p / (1 − p)) */
  readonly logits: Tensor;
  readonly #isOfProbs: boolean;

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
    requireOne('Bernoulli', probs, logits);
    const known =
      logits === undefined
        ? broadcastParameters('Bernoulli', { probs: [probs!, unitInterval] }, options).probs
        : broadcastParameters('Bernoulli', { logits: [logits, real] }, options).logits;
    super(known.shape, [], options);
    this.#isOfProbs = logits === undefined;
    this.probs = logits === undefined ? known : known.sigmoid();
    this.logits = logits === undefined ? logitsOf(known) : known;
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
    return this.#isOfProbs
      ? new Bernoulli(this.probs.expand(batchShape), undefined, this.options)
      : new Bernoulli(undefined, this.logits.expand(batchShape), this.options);
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
