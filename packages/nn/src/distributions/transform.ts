import { ArgumentError } from '../errors/errors.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { real, type Constraint } from './constraint.ts';

/** Options of transforms. */
export interface TransformOptions {
  /**
   * 1: the transform remembers its last argument and result, so that the inverse of a result is its argument itself. That is exact
   * where the inverse is not, such as that of tanh near 1. Default: 0.
   */
  cacheSize?: 0 | 1;
}

/**
 * Base class of invertible functions with a known derivative (torch.distributions.transforms.Transform). torch calls a transform as
 * a function, `transform(x)`; here it is `transform.forward(x)`.
 */
export abstract class Transform {
  /** Dimensions of one argument: 0 for functions of single numbers. */
  readonly eventDim: number = 0;
  /** 1 if the last argument and result are remembered, otherwise 0. */
  readonly cacheSize: number;
  #last: readonly [x: Tensor, y: Tensor] | undefined;

  protected constructor({ cacheSize = 0 }: TransformOptions = {}) {
    if (![0, 1].includes(cacheSize)) {
      throw new ArgumentError(`Transform: expected 0 or 1 as cacheSize, got ${String(cacheSize)}.`);
    }
    this.cacheSize = cacheSize;
  }

  /** Values of the function. Default: all numbers. */
  get codomain(): Constraint {
    return real;
  }

  /** 1 for an increasing function, −1 for a decreasing one. A tensor if it depends on elements. */
  get sign(): Tensor | number {
    return 1;
  }

  /** The function at x. */
  forward(x: Tensor): Tensor {
    if (this.#last?.[0] === x) return this.#last[1];
    const y = this.compute(x);
    if (this.cacheSize > 0) this.#last = [x, y];
    return y;
  }

  /** The argument of a value. */
  inverse(y: Tensor): Tensor {
    if (this.#last?.[1] === y) return this.#last[0];
    const x = this.computeInverse(y);
    if (this.cacheSize > 0) this.#last = [x, y];
    return x;
  }

  /** The inverse function (torch.distributions.transforms.Transform.inv). */
  get inv(): Transform {
    return new InverseTransform(this);
  }

  /** True for a transform that computes the same. Default: for the same object. */
  equals(other: Transform): boolean {
    return this === other;
  }

  /** log |dy/dx| at an argument and its value, summed over the dimensions of one argument. */
  abstract logAbsDetJacobian(x: Tensor, y: Tensor): Tensor;

  /** The function, without a cache. */
  protected abstract compute(x: Tensor): Tensor;

  /** The inverse function, without a cache. */
  protected abstract computeInverse(y: Tensor): Tensor;
}

class InverseTransform extends Transform {
  readonly #of: Transform;
  override readonly eventDim: number;

  constructor(of: Transform) {
    super();
    this.#of = of;
    this.eventDim = of.eventDim;
  }

  override get sign(): Tensor | number {
    return this.#of.sign;
  }

  override get inv(): Transform {
    return this.#of;
  }

  override equals(other: Transform): boolean {
    return other instanceof InverseTransform && this.#of.equals(other.#of);
  }

  logAbsDetJacobian(x: Tensor, y: Tensor): Tensor {
    return this.#of.logAbsDetJacobian(y, x).neg();
  }

  protected compute(x: Tensor): Tensor {
    return this.#of.inverse(x);
  }

  protected computeInverse(y: Tensor): Tensor {
    return this.#of.forward(y);
  }
}
