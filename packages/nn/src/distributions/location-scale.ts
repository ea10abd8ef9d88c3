import type { Tensor } from '../tensor/tensor.ts';
import { positive, real, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import { broadcastParameters, type DistributionOptions, type DistributionParameter } from './parameters.ts';

/** A distribution of `loc + scale · z`, where z has no parameters and its highest density at 0. */
export abstract class LocationScale extends Distribution {
  /** The value of the highest density, and the mean if the distribution is symmetric. */
  readonly loc: Tensor;
  /** Normal: the standard deviation. Laplace: the mean distance from `loc`. Cauchy: half of the distance between the quartiles. */
  readonly scale: Tensor;

  /** @param name of the class, in errors */
  constructor(
    name: string,
    loc: DistributionParameter,
    scale: DistributionParameter,
    options: DistributionOptions,
  ) {
    const parameters = broadcastParameters(name, { loc: [loc, real], scale: [scale, positive] }, options);
    super(parameters.loc.shape, [], options);
    this.loc = parameters.loc;
    this.scale = parameters.scale;
  }

  get support(): Constraint {
    return real;
  }

  override get hasRsample(): boolean {
    return true;
  }

  get mean(): Tensor {
    return this.loc;
  }

  get mode(): Tensor {
    return this.loc;
  }
}
