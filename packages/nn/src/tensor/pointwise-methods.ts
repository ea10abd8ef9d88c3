import { ArgumentError } from '../errors.ts';
import type { DType } from '../dtype.ts';
import * as elementwise from '../ops/elementwise.ts';
import * as functions from '../ops/functions.ts';
import { constant } from '../ops/source.ts';
import type { Tensor } from '../tensor.ts';
import { ComparisonMethods } from './comparison-methods.ts';
import { valueOf, type Operand } from './tensor-methods.ts';

/** Functions of each element, beside those in tensor.ts. */
export abstract class PointwiseMethods extends ComparisonMethods {
  /** Sine of an angle in radians. */
  sin(): Tensor {
    return this.of(functions.sin(this.value));
  }

  /** Cosine of an angle in radians. */
  cos(): Tensor {
    return this.of(functions.cos(this.value));
  }

  /** Tangent of an angle in radians. */
  tan(): Tensor {
    return this.of(functions.tan(this.value));
  }

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
