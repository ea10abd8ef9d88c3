import { tanh } from '../ops/functions.ts';
import * as trigonometry from '../ops/trigonometry.ts';
import { ComparisonMethods } from './comparison-methods.ts';

/** Functions of angles, hyperbolic functions, and their inverses. */
export abstract class TrigonometricMethods<
  Tensor extends TrigonometricMethods<Tensor>,
> extends ComparisonMethods<Tensor> {
  /** Sine of an angle in radians. */
  sin(): Tensor {
    return this.of(trigonometry.sin(this.value));
  }

  /** Cosine of an angle in radians. */
  cos(): Tensor {
    return this.of(trigonometry.cos(this.value));
  }

  /** Tangent of an angle in radians. */
  tan(): Tensor {
    return this.of(trigonometry.tan(this.value));
  }

  /** Angle from −π/2 to π/2 of this sine (torch.asin). */
  asin(): Tensor {
    return this.of(trigonometry.asin(this.value));
  }

  /** Angle from 0 to π of this cosine (torch.acos). */
  acos(): Tensor {
    return this.of(trigonometry.acos(this.value));
  }

  /** Angle from −π/2 to π/2 of this tangent (torch.atan). */
  atan(): Tensor {
    return this.of(trigonometry.atan(this.value));
  }

  /** Hyperbolic sine. */
  sinh(): Tensor {
    return this.of(trigonometry.sinh(this.value));
  }

  /** Hyperbolic cosine. */
  cosh(): Tensor {
    return this.of(trigonometry.cosh(this.value));
  }

  /** Hyperbolic tangent, elementwise. */
  tanh(): Tensor {
    return this.of(tanh(this.value));
  }

  /** Inverse of the hyperbolic sine. */
  asinh(): Tensor {
    return this.of(trigonometry.asinh(this.value));
  }

  /** Inverse of the hyperbolic cosine, for x ≥ 1. */
  acosh(): Tensor {
    return this.of(trigonometry.acosh(this.value));
  }

  /** Inverse of the hyperbolic tangent, for |x| < 1. */
  atanh(): Tensor {
    return this.of(trigonometry.atanh(this.value));
  }
}
