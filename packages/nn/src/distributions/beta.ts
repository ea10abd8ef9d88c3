import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { stack } from '../tensor/combine.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { positive, unitInterval, type Constraint } from './constraint.ts';
import { Dirichlet } from './dirichlet.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';

/** Beta distribution of a probability (torch.distributions.Beta). */
export class Beta extends Distribution {
  /** Often α. */
  readonly concentration1: Tensor;
  /** Often β. */
  readonly concentration0: Tensor;
  readonly #dirichlet: Dirichlet;

  constructor(
    ...given: Call<
      [
        concentration1: DistributionParameter,
        concentration0: DistributionParameter,
        options?: DistributionOptions | undefined,
      ],
      'distributions.Beta'
    >
  ) {
    const [first, second, options] = arranged('distributions.Beta', given);
    const { concentration1, concentration0 } = broadcastParameters(
      'Beta',
      { concentration1: [first, positive], concentration0: [second, positive] },
      options,
    );
    super(concentration1.shape, [], options);
    this.concentration1 = concentration1;
    this.concentration0 = concentration0;
    this.#dirichlet = new Dirichlet(stack([concentration1, concentration0], -1), options);
  }

  get support(): Constraint {
    return unitInterval;
  }

  override get hasRsample(): boolean {
    return true;
  }

  get mean(): Tensor {
    return this.concentration1.div(this.concentration1.add(this.concentration0));
  }

  get mode(): Tensor {
    return this.#dirichlet.mode.select(-1, 0);
  }

  get variance(): Tensor {
    const total = this.concentration1.add(this.concentration0);
    return this.concentration1.mul(this.concentration0).div(total.square().mul(total.add(1)));
  }

  override expand(batchShape: readonly number[]): Beta {
    return new Beta(
      this.concentration1.expand(batchShape),
      this.concentration0.expand(batchShape),
      this.options,
    );
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return this.#dirichlet.rsample(shape).select(-1, 0);
  }

  logProb(value: DistributionParameter): Tensor {
    const at = this.valueOf('logProb', value);
    return this.#dirichlet.logProb(stack([at, at.neg().add(1)], -1));
  }

  override entropy(): Tensor {
    return this.#dirichlet.entropy();
  }
}
