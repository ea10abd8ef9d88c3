import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import { fullLike } from '../tensor/creation.ts';
import { rand } from '../tensor/random-creation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { real, unitInterval, type Constraint } from './constraint.ts';
import { Distribution } from './distribution.ts';
import {
  asKnown,
  broadcastParameters,
  type DistributionOptions,
  type DistributionParameter,
} from './parameters.ts';
import { validatesByDefault } from './validation.ts';

/** Uniform distribution on [low, high) (torch.distributions.Uniform). After `manualSeed`, samples equal torch's on the CPU. */
export class Uniform extends Distribution {
  /** Least value. */
  readonly low: Tensor;
  /** Upper bound, exclusive. */
  readonly high: Tensor;

  /** @throws ArgumentError if low and high are numbers, unless low < high */
  constructor(
    ...given: Call<
      [low: DistributionParameter, high: DistributionParameter, options?: DistributionOptions | undefined],
      'distributions.Uniform'
    >
  ) {
    const [low, high, options] = arranged('distributions.Uniform', given);
    const parameters = broadcastParameters('Uniform', { low: [low, real], high: [high, real] }, options);
    if (options.validateArgs ?? validatesByDefault()) requireOrder(asKnown(low), asKnown(high));
    super(parameters.low.shape, [], options);
    this.low = parameters.low;
    this.high = parameters.high;
  }

  /** Unlike in torch, values outside have a log-probability of −∞, because the bounds may be computed. */
  get support(): Constraint {
    return real;
  }

  override get hasRsample(): boolean {
    return true;
  }

  get mean(): Tensor {
    return this.low.add(this.high).div(2);
  }

  /** NaN: no value is the most probable one. */
  get mode(): Tensor {
    return fullLike(this.low, NaN);
  }

  get variance(): Tensor {
    return this.high.sub(this.low).square().div(12);
  }

  override get stddev(): Tensor {
    return this.high.sub(this.low).div(Math.sqrt(12));
  }

  override expand(batchShape: readonly number[]): Uniform {
    return new Uniform(this.low.expand(batchShape), this.high.expand(batchShape), this.options);
  }

  protected override drawDifferentiable(shape: readonly number[]): Tensor {
    return rand(this.extendedShape(shape)).mul(this.high.sub(this.low)).add(this.low);
  }

  logProb(value: DistributionParameter): Tensor {
    const at = this.valueOf('logProb', value);
    const isInside = at.ge(this.low).logicalAnd(at.lt(this.high));
    return isInside.float().log().sub(this.high.sub(this.low).log());
  }

  override entropy(): Tensor {
    return this.high.sub(this.low).log();
  }

  override cdf(value: DistributionParameter): Tensor {
    return this.valueOf('cdf', value).sub(this.low).div(this.high.sub(this.low)).clamp(0, 1);
  }

  override icdf(value: DistributionParameter): Tensor {
    return this.valueOf('icdf', value, unitInterval).mul(this.high.sub(this.low)).add(this.low);
  }
}

function requireOrder(low: Tensor | number, high: Tensor | number): void {
  if (typeof low !== 'number' || typeof high !== 'number' || low < high) return;
  throw new ArgumentError(`Uniform: expected low below high, got ${low} and ${high}.`);
}
