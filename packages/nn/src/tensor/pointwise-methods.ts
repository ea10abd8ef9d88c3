import { ArgumentError } from '../errors.ts';
import type { DType } from '../dtype.ts';
import * as elementwise from '../ops/elementwise.ts';
import * as functions from '../ops/functions.ts';
import { floorDivide, fmod, remainder, truncate } from '../ops/division.ts';
import { constant } from '../ops/source.ts';
import type { Tensor } from '../tensor.ts';
import { TrigonometricMethods } from './trigonometric-methods.ts';
import { valueOf, type Operand } from './tensor-methods.ts';

const MAX_FLOAT32 = (2 - 2 ** -23) * 2 ** 127;

/** Functions of each element, beside those in tensor.ts. */
export abstract class PointwiseMethods extends TrigonometricMethods {
  /** −1, 0 or 1. Without a gradient. */
  sign(): Tensor {
    return this.of(functions.sign(this.value));
  }

  /** The next integer below. Without a gradient. */
  floor(): Tensor {
    return this.of(functions.floor(this.value));
  }

  /** The next integer above. Without a gradient. */
  ceil(): Tensor {
    return this.of(functions.ceil(this.value));
  }

  /** The nearest integer, the even one of two. Without a gradient. */
  round(): Tensor {
    return this.of(functions.round(this.value));
  }

  /** The integer part: the nearest integer towards 0 (torch.trunc). Without a gradient. */
  trunc(): Tensor {
    return this.of(truncate(this.value));
  }

  /** x − trunc x (torch.frac). */
  frac(): Tensor {
    return this.of(elementwise.sub(this.value, truncate(this.value)));
  }

  /** Remainder with the sign of the divisor (torch.remainder, Python's %), of float32 or int64. */
  remainder(other: Operand): Tensor {
    return this.of(remainder(this.value, valueOf(other, this.value.dtype)));
  }

  /** Remainder with the sign of this tensor (torch.fmod), of float32 or int64. */
  fmod(other: Operand): Tensor {
    return this.of(fmod(this.value, valueOf(other, this.value.dtype)));
  }

  /** ⌊x / other⌋ (torch.floor_divide, Python's //), of float32 or int64. Without a gradient. */
  floorDivide(other: Operand): Tensor {
    return this.of(floorDivide(this.value, valueOf(other, this.value.dtype)));
  }

  /** x² */
  square(): Tensor {
    return this.of(elementwise.mul(this.value, this.value));
  }

  /** 1/x */
  reciprocal(): Tensor {
    return this.of(elementwise.div(constant(1), this.value));
  }

  /** 1/√x */
  rsqrt(): Tensor {
    return this.of(elementwise.div(constant(1), elementwise.sqrt(this.value)));
  }

  /** log(1 + x). For |x| below 1e-4 less precise than torch.log1p, because it computes the sum first. */
  log1p(): Tensor {
    return this.of(elementwise.log(elementwise.add(constant(1), this.value)));
  }

  /** Logarithm to the base 2. */
  log2(): Tensor {
    return this.of(elementwise.mul(elementwise.log(this.value), constant(Math.LOG2E)));
  }

  /** Logarithm to the base 10. */
  log10(): Tensor {
    return this.of(elementwise.mul(elementwise.log(this.value), constant(Math.LOG10E)));
  }

  /** 2ˣ */
  exp2(): Tensor {
    return this.of(elementwise.exp(elementwise.mul(this.value, constant(Math.LN2))));
  }

  /** eˣ − 1, precise also for small |x| (torch.expm1). */
  expm1(): Tensor {
    const small = this.clamp(-1, 1).mul(0.5).tanh();
    const near = small.mul(2).div(small.neg().add(1));
    return near.where(this.clamp(-1, 1).eq(this.of(this.value)), this.of(elementwise.exp(this.value)).sub(1));
  }

  /** log(x / (1 − x)) (torch.logit). `eps` limits x to [eps, 1 − eps]. Default: no limit. */
  logit(eps?: number): Tensor {
    const x = eps === undefined ? this.of(this.value) : this.clamp(eps, 1 - eps);
    // A factor, because outside of [0, 1] the gradient is NaN, too.
    const isOutside = x.lt(0).logicalOr(x.gt(1));
    const inside = x.mul(this.of(constant(1)).maskedFill(isOutside, NaN));
    return inside.log().sub(inside.neg().add(1).log());
  }

  /** log(eˣ + eʸ), without overflow (torch.logaddexp). */
  logaddexp(other: Tensor): Tensor {
    const difference = this.of(elementwise.sub(this.value, other.value)).abs();
    const sum = this.of(this.value)
      .maximum(other)
      .add(this.of(functions.softplus(elementwise.neg(difference.value))));
    // The difference of equal infinities is NaN.
    return this.where(this.isinf().logicalAnd(this.eq(other)), sum);
  }

  /** x·log y, 0 where x is 0 (torch.xlogy). */
  xlogy(other: Tensor): Tensor {
    const isZero = this.eq(0);
    const logarithm = other.log().maskedFill(isZero.logicalAnd(other.le(0)), 0);
    const isInfinite = isZero.logicalAnd(other.eq(Infinity));
    return this.of(elementwise.mul(this.value, logarithm.value)).maskedFill(isInfinite, 0);
  }

  /** Replaces NaN and infinities (torch.nan_to_num). Default: 0, and the largest and smallest float32. */
  nanToNum(nan = 0, posinf = MAX_FLOAT32, neginf = -MAX_FLOAT32): Tensor {
    const finite = this.maskedFill(this.isnan(), nan);
    return finite.maskedFill(finite.eq(Infinity), posinf).maskedFill(finite.eq(-Infinity), neginf);
  }

  /**
   * Limits each element to [min, max] (torch.clamp); null: no limit on that side. NaN stays. The gradient is 0 where an
   * element is outside.
   */
  clamp(min: Operand | null = null, max: Operand | null = null): Tensor {
    if (min === null && max === null) {
      throw new ArgumentError('clamp: expected min, max or both, got neither.');
    }
    let value = this.value;
    if (min !== null) {
      const least = valueOf(min, value.dtype);
      value = elementwise.where(elementwise.greater(least, value), least, value);
    }
    if (max !== null) {
      const most = valueOf(max, value.dtype);
      value = elementwise.where(elementwise.greater(value, most), most, value);
    }
    return this.of(value);
  }

  /** x + weight·(end − x) (torch.lerp). */
  lerp(end: Tensor, weight: Operand): Tensor {
    const step = elementwise.mul(valueOf(weight), elementwise.sub(end.value, this.value));
    return this.of(elementwise.add(this.value, step));
  }

  /**
   * The elements in another dtype (torch.Tensor.to). Floats become integers by cutting off the fraction, and true unless
   * they are 0. Only float32 has gradients.
   */
  to(dtype: DType): Tensor {
    if (!['float32', 'int64', 'bool'].includes(dtype)) {
      throw new ArgumentError(`to: expected 'float32', 'int64' or 'bool', got ${JSON.stringify(dtype)}.`);
    }
    return this.of(elementwise.cast(this.value, dtype));
  }

  /** The elements in float32 (torch.Tensor.float). */
  float(): Tensor {
    return this.to('float32');
  }

  /** The elements in int64 (torch.Tensor.long). */
  long(): Tensor {
    return this.to('int64');
  }

  /** The elements in bool (torch.Tensor.bool). */
  bool(): Tensor {
    return this.to('bool');
  }
}
