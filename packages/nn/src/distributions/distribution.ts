import { isNamed } from '../calls/arrange.ts';
import { numbersOf } from '../calls/sizes.ts';
import { requireOptions } from '../checks/require-options.ts';
import { ArgumentError } from '../errors/errors.ts';
import { requireShape } from '../tensor/creation.ts';
import { noGrad } from '../tensor/no-grad.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { requireConstraint, type Constraint } from './constraint.ts';
import {
  asFloatTensor,
  asKnown,
  type DistributionOptions,
  type DistributionParameter,
} from './parameters.ts';
import { validatesByDefault } from './validation.ts';

/** A shape of samples by name. */
export interface SampleOptions {
  /** Dimensions before those of the batch. */
  readonly sampleShape: readonly number[];
}

/** The shape of samples, one by one, in a list or by name: `sample(2, 3)`, `sample([2, 3])`, `sample({ sampleShape: [2, 3] })`. */
export type SampleShape =
  readonly number[] | readonly [sampleShape: readonly number[]] | readonly [options: SampleOptions];

/**
 * Base class of probability distributions (torch.distributions.Distribution). Samples have the shape
 * [...sampleShape, ...batchShape, ...eventShape], log-probabilities the shape of a value without `eventShape`.
 *
 * Random numbers are drawn from the generator of `manualSeed` at the call of `sample`; everything else is a lazy graph, as all
 * operations of tensors are.
 */
export abstract class Distribution {
  /** Shape of the parameters: of independent distributions that are not identical. */
  readonly batchShape: readonly number[];
  /** Shape of one sample of one of them. */
  readonly eventShape: readonly number[];
  /** The options of the constructor, with their defaults, for `expand`. */
  protected readonly options: Required<DistributionOptions>;

  protected constructor(
    batchShape: readonly number[],
    eventShape: readonly number[],
    { validateArgs = validatesByDefault() }: DistributionOptions,
  ) {
    this.batchShape = batchShape;
    this.eventShape = eventShape;
    this.options = { validateArgs };
  }

  /** Values with a probability or density (torch.distributions.Distribution.support). */
  abstract readonly support: Constraint;

  /** True if `rsample` exists. */
  get hasRsample(): boolean {
    return false;
  }

  /** Mean, of the batch's shape and the event's. */
  abstract get mean(): Tensor;

  /** The value of the highest probability or density. */
  abstract get mode(): Tensor;

  /** Variance, elementwise. */
  abstract get variance(): Tensor;

  /** Standard deviation, elementwise. */
  get stddev(): Tensor {
    return this.variance.sqrt();
  }

  /** Random samples without gradients. Default of the shape: [], one sample. */
  sample(...given: SampleShape): Tensor {
    const shape = this.#sampleShape('sample', given);
    const samples = noGrad(() => (this.hasRsample ? this.drawDifferentiable(shape) : this.draw(shape)));
    // The same tensor where possible, which a transform with a cache recognizes.
    return samples.requiresGrad ? samples.detach() : samples;
  }

  /**
   * Random samples with the gradient of the parameters, by reparameterization. Default of the shape: [].
   *
   * @throws ArgumentError for discrete distributions
   */
  rsample(...given: SampleShape): Tensor {
    const shape = this.#sampleShape('rsample', given);
    if (!this.hasRsample) {
      throw this.#without(
        'rsample',
        'Use sample() and the gradient of logProb(value), or F.gumbelSoftmax for a relaxed sample.',
      );
    }
    return this.drawDifferentiable(shape);
  }

  /** Samples of a discrete distribution. */
  protected draw(_: readonly number[]): Tensor {
    throw this.#without('sample', 'Define it in the subclass.');
  }

  /** Samples of a distribution with `rsample`. */
  protected drawDifferentiable(_: readonly number[]): Tensor {
    throw this.#without('rsample', 'Define it in the subclass.');
  }

  /**
   * The logarithm of the probability or density at a value, which broadcasts with the batch.
   *
   * @throws ArgumentError for a value outside the support, if `validateArgs` and its elements are known
   */
  abstract logProb(value: DistributionParameter): Tensor;

  /**
   * Entropy in nats, of the batch's shape.
   *
   * @throws ArgumentError for a distribution whose entropy has no formula, such as Poisson
   */
  entropy(): Tensor {
    throw this.withoutFormula('entropy');
  }

  /** The probability of values up to `value`. */
  cdf(_: DistributionParameter): Tensor {
    throw this.#without('cdf', 'Use a distribution of real numbers, such as Normal.');
  }

  /** The value with a probability of values up to it, the inverse of `cdf`. */
  icdf(_: DistributionParameter): Tensor {
    throw this.#without('icdf', 'Use a distribution of real numbers, such as Normal.');
  }

  /**
   * The same distribution with parameters that are expanded to the shape of a batch, to which the present one broadcasts
   * (torch.distributions.Distribution.expand).
   *
   * @throws ArgumentError of a class of the user that does not define it; ShapeError if the batch does not broadcast to the shape
   */
  expand(_: readonly number[]): Distribution {
    throw this.#without('expand', 'Define it in the subclass.');
  }

  /** The exponential of the entropy. */
  perplexity(): Tensor {
    return this.entropy().exp();
  }

  /** The shape of samples of a sample shape. */
  protected extendedShape(sampleShape: readonly number[]): readonly number[] {
    return [...sampleShape, ...this.batchShape, ...this.eventShape];
  }

  /** A value as a float tensor, checked. */
  protected valueOf(name: string, value: DistributionParameter, support = this.support): Tensor {
    if (this.options.validateArgs) {
      requireConstraint(`${this.constructor.name}.${name}: value`, asKnown(value), support);
    }
    return asFloatTensor(value);
  }

  #sampleShape(name: string, given: readonly unknown[]): readonly number[] {
    const [named] = given;
    let sizes = given;
    if (isNamed(named)) {
      requireOptions(name, named, { sampleShape: true });
      sizes = [named['sampleShape'] ?? []];
    }
    const shape = numbersOf(`distribution.${name}`, sizes);
    requireShape(name, shape);
    return shape;
  }

  /** The error of a member without a formula, as in torch. */
  protected withoutFormula(member: string): ArgumentError {
    return this.#without(
      member,
      'It has no formula, in torch neither. Estimate it from samples, such as logProb(sample([1000])).mean([0]).neg() for the entropy.',
    );
  }

  #without(method: string, advice: string): ArgumentError {
    const name = this.constructor.name;
    return new ArgumentError(
      `${name}.${method}: expected a distribution with ${method}, got ${name}. ${advice}`,
    );
  }
}
