import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ShapeError } from '../errors/errors.ts';
import { broadcastShape } from '../ops/broadcast.ts';
import { arange, full } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { integerBelow, nonnegative, real, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { clampProbabilities, requireOne } from './probabilities.ts';

/** Least finite float32. */
const least = -((2 - 2 ** -23) * 2 ** 127);

/** One of C classes (torch.distributions.Categorical). Samples are int64; see {@link Tensor.multinomial}. */
export class Categorical extends Distribution {
  /** [..., C], with sum 1. */
  readonly probs: Tensor;
  /** Logarithms of the probabilities, [..., C]. */
  readonly logits: Tensor;
  readonly #classes: number;
  readonly #isOfProbs: boolean;

  /** Either probabilities, [..., C], or unnormalized logarithms of them. Probabilities are divided by their sum. */
  constructor(
    ...given: Call<
      [probs?: Tensor | undefined, logits?: Tensor | undefined, options?: DistributionOptions | undefined],
      'distributions.Categorical'
    >
  ) {
    const [probs, logits, options] = arranged('distributions.Categorical', given);
    requireOne('Categorical', probs, logits);
    const known =
      logits === undefined
        ? broadcastParameters('Categorical', { probs: [probs!, nonnegative] }, options).probs
        : broadcastParameters('Categorical', { logits: [logits, real] }, options).logits;
    const classes = known.shape.at(-1);
    if (classes === undefined || classes === 0) {
      throw new ShapeError(
        `Categorical: expected float32[…,C] with C of at least 1, got ${describeType(known)}.`,
      );
    }
    super(known.shape.slice(0, -1), [], options);
    this.#classes = classes;
    this.#isOfProbs = logits === undefined;
    this.probs = logits === undefined ? known.div(known.sum(-1, true)) : known.softmax(-1);
    this.logits = logits === undefined ? clampProbabilities(this.probs).log() : known.logSoftmax(-1);
  }

  get support(): Constraint {
    return integerBelow(this.#classes);
  }

  /** NaN: classes have no order. */
  get mean(): Tensor {
    return full(this.batchShape, NaN);
  }

  get mode(): Tensor {
    return this.probs.argmax(-1);
  }

  /** NaN: classes have no order. */
  get variance(): Tensor {
    return full(this.batchShape, NaN);
  }

  override expand(batchShape: readonly number[]): Categorical {
    const shape = [...batchShape, this.#classes];
    return this.#isOfProbs
      ? new Categorical(this.probs.expand(shape), undefined, this.options)
      : new Categorical(undefined, this.logits.expand(shape), this.options);
  }

  protected override draw(shape: readonly number[]): Tensor {
    const rows = sizeOf(this.batchShape);
    const count = sizeOf(shape);
    if (rows * count === 0) return full(this.extendedShape(shape), 0, { dtype: 'int64' });
    const samples = this.probs.view(rows, this.#classes).multinomial(count, true);
    return samples.t().view(...this.extendedShape(shape));
  }

  logProb(value: DistributionParameter): Tensor {
    const classes = this.valueOf('logProb', value).long().unsqueeze(-1);
    const rows = this.logits.narrow(-1, 0, 1);
    const shape = broadcastShape('Categorical.logProb', classes.value, rows.value).slice(0, -1);
    return this.logits
      .expand(...shape, this.#classes)
      .gather(-1, classes.expand(...shape, 1))
      .squeeze(-1);
  }

  override entropy(): Tensor {
    return this.logits.clamp(least).mul(this.probs).sum(-1).neg();
  }

  /** The classes 0 to C − 1 along a new first dimension, expanded to the batch unless `expand` is false. */
  enumerateSupport(expand = true): Tensor {
    const classes = arange(this.#classes).view(this.#classes, ...this.batchShape.map(() => 1));
    return expand ? classes.expand(this.#classes, ...this.batchShape) : classes;
  }
}
