import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { Categorical } from './categorical.ts';
import type { Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';

/**
 * A mixture of K distributions of one class (torch.distributions.MixtureSameFamily): the last dimension of the batch of
 * `componentDistribution` is the K components, which `mixtureDistribution` chooses from. A mixture of normal distributions is
 * `new MixtureSameFamily(new Categorical({ logits }), new Normal(mean, std))`, with all three [..., K].
 */
export class MixtureSameFamily extends Distribution {
  /** Probabilities of the components. */
  readonly mixtureDistribution: Categorical;
  /** The components. */
  readonly componentDistribution: Distribution;

  /** @throws ShapeError unless the classes are the last dimension of the components' batch, and the batches before it broadcast */
  constructor(
    ...given: Call<
      [
        mixtureDistribution: Categorical,
        componentDistribution: Distribution,
        options?: DistributionOptions | undefined,
      ],
      'distributions.MixtureSameFamily'
    >
  ) {
    const [mixture, components, options] = arranged('distributions.MixtureSameFamily', given);
    const classes = mixture.probs.shape.at(-1)!;
    const { batchShape, eventShape } = components;
    if (batchShape.at(-1) !== classes || !isSuffix(mixture.batchShape, batchShape.slice(0, -1))) {
      throw new ShapeError(
        `MixtureSameFamily: expected components of the batch […,${classes}] with the mixture's batch [${mixture.batchShape.join()}] before its end, got the batch [${batchShape.join()}].`,
      );
    }
    super(batchShape.slice(0, -1), eventShape, options);
    this.mixtureDistribution = mixture;
    this.componentDistribution = components;
  }

  get support(): Constraint {
    return this.componentDistribution.support;
  }

  get mean(): Tensor {
    return this.#averaged(this.componentDistribution.mean);
  }

  /** @throws ArgumentError: it has no formula */
  get mode(): Tensor {
    throw this.withoutFormula('mode');
  }

  /** The mean variance of the components and the variance of their means. */
  get variance(): Tensor {
    const { mean, variance } = this.componentDistribution;
    const distance = mean.sub(this.mean.unsqueeze(this.#dim));
    return this.#averaged(variance).add(this.#averaged(distance.square()));
  }

  override expand(batchShape: readonly number[]): MixtureSameFamily {
    const classes = this.mixtureDistribution.probs.shape.at(-1)!;
    return new MixtureSameFamily(
      this.mixtureDistribution.expand(batchShape),
      this.componentDistribution.expand([...batchShape, classes]),
      this.options,
    );
  }

  protected override draw(shape: readonly number[]): Tensor {
    const [rank, events] = [shape.length + this.batchShape.length, this.eventShape];
    const chosen = this.mixtureDistribution.expand(this.batchShape).sample(shape);
    const index = chosen.view(...chosen.shape, 1, ...events.map(() => 1));
    const samples = this.componentDistribution.sample(shape);
    return samples.gather(rank, index.expand(...chosen.shape, 1, ...events)).squeeze(rank);
  }

  logProb(value: DistributionParameter): Tensor {
    const at = this.valueOf('logProb', value);
    const ofEach = this.componentDistribution.logProb(this.#padded(at));
    return ofEach.add(this.mixtureDistribution.logits).logsumexp(-1);
  }

  override cdf(value: DistributionParameter): Tensor {
    const below = this.componentDistribution.cdf(this.#padded(this.valueOf('cdf', value)));
    return below.mul(this.mixtureDistribution.probs).sum(-1);
  }

  /** The dimension of the components in a value of them. */
  get #dim(): number {
    return -1 - this.eventShape.length;
  }

  /** A value with a dimension for the components. */
  #padded(value: Tensor): Tensor {
    const missing = this.eventShape.length - value.shape.length;
    return (missing > 0 ? value.expand(...this.eventShape) : value).unsqueeze(this.#dim);
  }

  /** The mean over components, by their probabilities. */
  #averaged(ofEach: Tensor): Tensor {
    const { probs } = this.mixtureDistribution;
    const weights = probs.view(...probs.shape, ...this.eventShape.map(() => 1));
    return ofEach.mul(weights).sum(this.#dim);
  }
}

function isSuffix(end: readonly number[], of: readonly number[]): boolean {
  return end.length <= of.length && end.every((size, i) => size === of[of.length - end.length + i]);
}
