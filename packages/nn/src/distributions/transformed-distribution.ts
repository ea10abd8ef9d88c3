import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { zeros } from '../tensor/creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { unitInterval, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { Independent } from './independent.ts';
import type { DistributionOptions, DistributionParameter } from './parameters.ts';
import { sumOfLast } from './sum-of-last.ts';
import type { Transform } from './transform.ts';
import { ComposeTransform } from './transforms.ts';

/**
 * The distribution of a transformed random number (torch.distributions.TransformedDistribution). The squashed normal of a soft
 * actor-critic:
 *
 * ```ts
 * const squashed = new distributions.TransformedDistribution(
 *   new distributions.Normal(mean, std),
 *   [new distributions.TanhTransform({ cacheSize: 1 })],
 * );
 * const action = squashed.rsample();
 * const logProb = squashed.logProb(action).sum(-1);
 * ```
 *
 * As in torch, `mean`, `variance`, `mode` and `entropy` are errors: they have no general formula.
 */
export class TransformedDistribution<Base extends Distribution = Distribution> extends Distribution {
  /** The distribution before the transforms, expanded to their shape. */
  readonly baseDist: Base | Independent;
  /** The transforms, the first one first. */
  readonly transforms: readonly Transform[];

  /** `transforms`: one, or several in a list */
  constructor(
    ...given: Call<
      [
        baseDistribution: Base,
        transforms: Transform | readonly Transform[],
        options?: DistributionOptions | undefined,
      ],
      'distributions.TransformedDistribution'
    >
  ) {
    const [base, transforms, options] = arranged('distributions.TransformedDistribution', given);
    const all = new ComposeTransform('forward' in transforms ? [transforms] : transforms);
    const shape = [...base.batchShape, ...base.eventShape];
    // Parameters of transforms may broadcast to a larger shape.
    const forwardShape = all.forward(zeros(shape)).shape;
    const baseDims = base.eventShape.length;
    const eventDims = Math.max(all.eventDim, baseDims);
    const isExpanded = forwardShape.length > shape.length || forwardShape.some((n, i) => n !== shape[i]);
    const expanded = isExpanded
      ? (base.expand(forwardShape.slice(0, forwardShape.length - baseDims)) as Base)
      : base;
    const split = forwardShape.length - eventDims;
    super(forwardShape.slice(0, split), forwardShape.slice(split), options);
    this.baseDist =
      eventDims > baseDims ? new Independent(expanded, eventDims - baseDims, options) : expanded;
    this.transforms = all.parts;
  }

  get support(): Constraint {
    return this.transforms.at(-1)?.codomain ?? this.baseDist.support;
  }

  override get hasRsample(): boolean {
    return this.baseDist.hasRsample;
  }

  /** @throws ArgumentError: it has no formula */
  get mean(): Tensor {
    throw this.withoutFormula('mean');
  }

  /** @throws ArgumentError: it has no formula */
  get mode(): Tensor {
    throw this.withoutFormula('mode');
  }

  /** @throws ArgumentError: it has no formula */
  get variance(): Tensor {
    throw this.withoutFormula('variance');
  }

  override expand(batchShape: readonly number[]): Distribution {
    const added = this.baseDist.eventShape.length;
    const inner = this.eventShape.slice(0, this.eventShape.length - added);
    return new TransformedDistribution(
      this.baseDist.expand([...batchShape, ...inner]),
      this.transforms,
      this.options,
    );
  }

  protected override draw(shape: readonly number[]): Tensor {
    return this.#forward(this.baseDist.sample(shape));
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return this.#forward(this.baseDist.rsample(shape));
  }

  logProb(value: DistributionParameter): Tensor {
    const eventDims = this.eventShape.length;
    let y = this.valueOf('logProb', value);
    let determinant: Tensor | undefined;
    for (const transform of this.transforms.toReversed()) {
      const x = transform.inverse(y);
      const term = sumOfLast(transform.logAbsDetJacobian(x, y), eventDims - transform.eventDim);
      determinant = determinant?.add(term) ?? term;
      y = x;
    }
    const density = sumOfLast(this.baseDist.logProb(y), eventDims - this.baseDist.eventShape.length);
    return determinant === undefined ? density : density.sub(determinant);
  }

  override cdf(value: DistributionParameter): Tensor {
    const at = this.valueOf('cdf', value);
    const below = this.baseDist.cdf(this.transforms.reduceRight((y, transform) => transform.inverse(y), at));
    return this.#mirrored(below);
  }

  override icdf(value: DistributionParameter): Tensor {
    return this.#forward(this.baseDist.icdf(this.#mirrored(this.valueOf('icdf', value, unitInterval))));
  }

  #forward(x: Tensor): Tensor {
    return this.transforms.reduce((value, transform) => transform.forward(value), x);
  }

  /** 1 − p if the transforms reverse the order of numbers, otherwise p. */
  #mirrored(probability: Tensor): Tensor {
    const { sign } = new ComposeTransform(this.transforms);
    return sign === 1 ? probability : probability.sub(0.5).mul(sign).add(0.5);
  }
}
