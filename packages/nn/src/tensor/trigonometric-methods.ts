import { tanh } from '../ops/functions.ts';
import * as trigonometry from '../ops/trigonometry.ts';
import { ComparisonMethods } from './comparison-methods.ts';

/** Trigonometric and hyperbolic functions, and their inverses. */
export abstract class TrigonometricMethods<
  Tensor extends TrigonometricMethods<Tensor>,
> extends ComparisonMethods<Tensor> {
  /** Sine of angles in radians, elementwise. */
  sin(): Tensor {
    return this.of(trigonometry.sin(this.value));
  }

  /** Cosine of angles in radians, elementwise. */
  cos(): Tensor {
    return this.of(trigonometry.cos(this.value));
  }

  /** Tangent of angles in radians, elementwise. */
  tan(): Tensor {
    return this.of(trigonometry.tan(this.value));
  }

  /** Inverse sine, from −π/2 to π/2 (torch.asin). */
  asin(): Tensor {
    return this.of(trigonometry.asin(this.value));
  }

  /** Inverse cosine, from 0 to π (torch.acos). */
  acos(): Tensor {
    return this.of(trigonometry.acos(this.value));
  }

  /** Inverse tangent, from −π/2 to π/2 (torch.atan). */
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

  /** Inverse hyperbolic sine. */
  asinh(): Tensor {
    return this.of(trigonometry.asinh(this.value));
  }

  /** Inverse hyperbolic cosine, for x ≥ 1. */
  acosh(): Tensor {
    return this.of(trigonometry.acosh(this.value));
  }

  /** Inverse hyperbolic tangent, for |x| < 1. */
  atanh(): Tensor {
    return this.of(trigonometry.atanh(this.value));
  }
}
