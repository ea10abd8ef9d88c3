import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { softplus } from '../functional/piecewise-activation.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { describeValue } from '../checks/describe-value.ts';
import { ArgumentError } from '../errors/errors.ts';
import { interval, positive, real, unitInterval, type Constraint } from './constraint.ts';
import { asFloatTensor, type DistributionParameter } from './parameters.ts';
import { sumOfLast } from './sum-of-last.ts';
import { Transform, type TransformOptions } from './transform.ts';

/** Least normal float32, and 1 minus the machine epsilon. */
const [tiny, belowOne] = [2 ** -126, 1 - 2 ** -23];

/** A function of single numbers without parameters, equal to all others of its class. */
abstract class PlainTransform extends Transform {
  constructor(options: TransformOptions = {}) {
    super(options);
  }

  override equals(other: Transform): boolean {
    return other.constructor === this.constructor;
  }
}

/** y = eˣ (torch.distributions.transforms.ExpTransform). */
export class ExpTransform extends PlainTransform {
  override get codomain(): Constraint {
    return positive;
  }

  logAbsDetJacobian(x: Tensor): Tensor {
    return x;
  }

  protected compute(x: Tensor): Tensor {
    return x.exp();
  }

  protected computeInverse(y: Tensor): Tensor {
    return y.log();
  }
}

/** y = 1 / (1 + e⁻ˣ) (torch.distributions.transforms.SigmoidTransform), within (0, 1) also where it rounds to 0 or 1. */
export class SigmoidTransform extends PlainTransform {
  override get codomain(): Constraint {
    return unitInterval;
  }

  logAbsDetJacobian(x: Tensor): Tensor {
    return softplus(x.neg()).add(softplus(x)).neg();
  }

  protected compute(x: Tensor): Tensor {
    return x.sigmoid().clamp(tiny, belowOne);
  }

  protected computeInverse(y: Tensor): Tensor {
    const clamped = y.clamp(tiny, belowOne);
    return clamped.log().sub(clamped.neg().log1p());
  }
}

/**
 * y = tanh(x) (torch.distributions.transforms.TanhTransform), which squashes the actions of a soft actor-critic. Pass
 * `{ cacheSize: 1 }`: tanh rounds to ±1 above 9, whose inverse is infinite.
 */
export class TanhTransform extends PlainTransform {
  override get codomain(): Constraint {
    return interval(-1, 1);
  }

  /** 2·(log 2 − x − softplus(−2x)), which is accurate also where 1 − tanh(x)² is 0. */
  logAbsDetJacobian(x: Tensor): Tensor {
    return x
      .neg()
      .add(Math.LN2)
      .sub(softplus(x.mul(-2)))
      .mul(2);
  }

  protected compute(x: Tensor): Tensor {
    return x.tanh();
  }

  protected computeInverse(y: Tensor): Tensor {
    return y.atanh();
  }
}

/** y = log(1 + eˣ) (torch.distributions.transforms.SoftplusTransform). */
export class SoftplusTransform extends PlainTransform {
  override get codomain(): Constraint {
    return positive;
  }

  logAbsDetJacobian(x: Tensor): Tensor {
    return softplus(x.neg()).neg();
  }

  protected compute(x: Tensor): Tensor {
    return softplus(x);
  }

  protected computeInverse(y: Tensor): Tensor {
    return y.neg().expm1().neg().log().add(y);
  }
}

/** Options of {@link AffineTransform}. */
export interface AffineTransformOptions extends TransformOptions {
  /** Dimensions of one argument, over which the logarithm of the determinant is summed. Default: 0. */
  eventDim?: number;
}

/** y = loc + scale·x, elementwise (torch.distributions.transforms.AffineTransform). */
export class AffineTransform extends Transform {
  /** Added. */
  readonly loc: Tensor;
  /** Multiplied, not 0. */
  readonly scale: Tensor;
  override readonly eventDim: number;

  /** - `scale`: not 0 */
  constructor(
    ...given: Call<
      [
        loc: DistributionParameter,
        scale: DistributionParameter,
        options?: AffineTransformOptions | undefined,
      ],
      'distributions.AffineTransform'
    >
  ) {
    const [loc, scale, options] = arranged('distributions.AffineTransform', given);
    super(options);
    this.loc = asFloatTensor(loc);
    this.scale = asFloatTensor(scale);
    this.eventDim = options.eventDim ?? 0;
    if (!Number.isInteger(this.eventDim) || this.eventDim < 0) {
      throw new ArgumentError(
        `AffineTransform: expected a whole number of at least 0 as eventDim, got ${this.eventDim}.`,
      );
    }
  }

  override get sign(): Tensor {
    return this.scale.sign();
  }

  /** True for the same tensors, or for equal numbers. */
  override equals(other: Transform): boolean {
    return (
      other instanceof AffineTransform &&
      this.eventDim === other.eventDim &&
      isSame(this.loc, other.loc) &&
      isSame(this.scale, other.scale)
    );
  }

  logAbsDetJacobian(x: Tensor): Tensor {
    return sumOfLast(x.mul(0).add(this.scale.abs().log()), this.eventDim);
  }

  protected compute(x: Tensor): Tensor {
    return this.scale.mul(x).add(this.loc);
  }

  protected computeInverse(y: Tensor): Tensor {
    return y.sub(this.loc).div(this.scale);
  }
}

function isSame(a: Tensor, b: Tensor): boolean {
  if (a === b) return true;
  const [first, second] = [a, b].map((one) => (one.shape.length === 0 ? one.elements()?.[0] : undefined));
  return first !== undefined && first === second;
}

/** Several transforms, the first one first (torch.distributions.transforms.ComposeTransform). */
export class ComposeTransform extends Transform {
  /** The transforms in their order. */
  readonly parts: readonly Transform[];
  override readonly eventDim: number;

  /** @throws ArgumentError for anything but transforms */
  constructor(
    ...given: Call<
      [parts: readonly Transform[], options?: TransformOptions | undefined],
      'distributions.ComposeTransform'
    >
  ) {
    const [parts, options] = arranged('distributions.ComposeTransform', given);
    super(options);
    const wrong: unknown = parts.find((one: unknown) => !(one instanceof Transform));
    if (wrong !== undefined) {
      throw new ArgumentError(`ComposeTransform: expected transforms, got ${describeValue(wrong)}.`);
    }
    this.parts = [...parts];
    this.eventDim = Math.max(0, ...parts.map(({ eventDim }) => eventDim));
  }

  override get codomain(): Constraint {
    return this.parts.at(-1)?.codomain ?? real;
  }

  override get sign(): Tensor | number {
    return this.parts.reduce<Tensor | number>((product, { sign }) => times(product, sign), 1);
  }

  override equals(other: Transform): boolean {
    return (
      other instanceof ComposeTransform &&
      this.parts.length === other.parts.length &&
      this.parts.every((part, i) => part.equals(other.parts[i]))
    );
  }

  logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    let at = x;
    let sum: Tensor | undefined;
    for (const [i, part] of this.parts.entries()) {
      const next = i === this.parts.length - 1 ? y : part.forward(at);
      const term = sumOfLast(part.logAbsDetJacobian(at, next), this.eventDim - part.eventDim);
      sum = sum?.add(term) ?? term;
      at = next;
    }
    return sum ?? x.mul(0);
  }

  protected compute(x: Tensor): Tensor {
    return this.parts.reduce((value, part) => part.forward(value), x);
  }

  protected computeInverse(y: Tensor): Tensor {
    return this.parts.reduceRight((value, part) => part.inverse(value), y);
  }
}

/** A product of signs. */
function times(a: Tensor | number, b: Tensor | number): Tensor | number {
  if (typeof a === 'number') return typeof b === 'number' ? a * b : b.mul(a);
  return a.mul(b);
}
