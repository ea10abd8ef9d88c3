import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ShapeError } from '../errors/errors.ts';
import { oneHot } from '../functional/one-hot.ts';
import { where } from '../tensor/combine.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { describeType } from '../value-type.ts';
import { positive, simplex, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { standardGamma } from './gamma-sampling.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';
import { digamma, lgamma } from './special-functions.ts';

/** Probabilities of C classes, vectors [..., C] with sum 1 (torch.distributions.Dirichlet). */
export class Dirichlet extends Distribution {
  /** [..., C], above 0. */
  readonly concentration: Tensor;

  /** @throws ShapeError unless the concentration has at least one dimension */
  constructor(
    ...given: Call<
      [concentration: Tensor, options?: DistributionOptions | undefined],
      'distributions.Dirichlet'
    >
  ) {
    const [of, options] = arranged('distributions.Dirichlet', given);
    const { concentration } = broadcastParameters('Dirichlet', { concentration: [of, positive] }, options);
    if (concentration.shape.length === 0) {
      throw new ShapeError(
        `Dirichlet: expected a concentration of at least one dimension, got ${describeType(concentration)}.`,
      );
    }
    super(concentration.shape.slice(0, -1), concentration.shape.slice(-1), options);
    this.concentration = concentration;
  }

  get support(): Constraint {
    return simplex;
  }

  override get hasRsample(): boolean {
    return true;
  }

  get mean(): Tensor {
    return this.concentration.div(this.concentration.sum(-1, true));
  }

  get mode(): Tensor {
    const above = this.concentration.sub(1).clamp(0);
    const inside = above.div(above.sum(-1, true));
    const isCorner = this.concentration.lt(1).all(-1, true);
    const corner = oneHot(this.concentration.argmax(-1), this.eventShape[0]).float();
    return where(isCorner, corner, inside);
  }

  get variance(): Tensor {
    const total = this.concentration.sum(-1, true);
    const spread = this.concentration.mul(total.sub(this.concentration));
    return spread.div(total.square().mul(total.add(1)));
  }

  override expand(batchShape: readonly number[]): Dirichlet {
    return new Dirichlet(this.concentration.expand([...batchShape, ...this.eventShape]), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    const gammas = standardGamma(this.concentration.expand(this.extendedShape(shape)));
    return gammas.div(gammas.sum(-1, true));
  }

  logProb(value: DistributionParameter): Tensor {
    const { concentration } = this;
    const powers = concentration.sub(1).xlogy(this.valueOf('logProb', value)).sum(-1);
    return powers.add(lgamma(concentration.sum(-1))).sub(lgamma(concentration).sum(-1));
  }

  override entropy(): Tensor {
    const { concentration } = this;
    const total = concentration.sum(-1);
    const ofTotal = total.sub(this.eventShape[0]).mul(digamma(total));
    const ofEach = concentration.sub(1).mul(digamma(concentration)).sum(-1);
    return lgamma(concentration).sum(-1).sub(lgamma(total)).add(ofTotal).sub(ofEach);
  }
}
