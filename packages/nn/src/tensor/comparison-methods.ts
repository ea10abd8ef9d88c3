import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import type { Scalar } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import * as elementwise from '../ops/elementwise.ts';
import { abs } from '../ops/functions.ts';
import { constant } from '../ops/source.ts';
import type { Value } from '../graph/node.ts';
import { IndexingMethods } from './indexing-methods.ts';
import { apply, promoted, type Promotable } from './tensor-methods.ts';

/**
 * Elementwise comparisons that return bool tensors; shapes broadcast and dtypes are promoted as in torch (see {@link Operand}):
 * int64 is compared with an integer exactly, and with a fraction or an infinity in float32. Without a gradient.
 */
export abstract class ComparisonMethods<
  Tensor extends ComparisonMethods<Tensor>,
> extends IndexingMethods<Tensor> {
  /** True where elements are equal (torch.eq). */
  eq(other: Tensor | Scalar | boolean): Tensor {
    return this.of(apply(elementwise.equal, this, other));
  }

  /** True where elements differ (torch.ne). */
  ne(other: Tensor | Scalar | boolean): Tensor {
    return this.of(apply((a, b) => elementwise.not(elementwise.equal(a, b)), this, other));
  }

  /** True where elements are smaller (torch.lt). */
  lt(other: Tensor | Scalar | boolean): Tensor {
    return this.of(apply((a, b) => elementwise.greater(b, a), this, other));
  }

  /** True where elements are smaller or equal (torch.le). */
  le(other: Tensor | Scalar | boolean): Tensor {
    return this.of(apply((a, b) => elementwise.greaterOrEqual(b, a), this, other));
  }

  /** True where elements are larger (torch.gt). */
  gt(other: Tensor | Scalar | boolean): Tensor {
    return this.of(apply(elementwise.greater, this, other));
  }

  /** True where elements are larger or equal (torch.ge). */
  ge(other: Tensor | Scalar | boolean): Tensor {
    return this.of(apply(elementwise.greaterOrEqual, this, other));
  }

  /** True where elements of both are true or nonzero (torch.logical_and). */
  logicalAnd(...given: Call<[other: Tensor], 'x.logicalAnd'>): Tensor {
    const [other] = arranged('x.logicalAnd', given);
    return this.of(elementwise.and(condition(this.value), condition(other.value)));
  }

  /** True where an element of at least one is true or nonzero (torch.logical_or). */
  logicalOr(...given: Call<[other: Tensor], 'x.logicalOr'>): Tensor {
    const [other] = arranged('x.logicalOr', given);
    return this.of(elementwise.or(condition(this.value), condition(other.value)));
  }

  /** True where an element of exactly one is true or nonzero (torch.logical_xor). */
  logicalXor(...given: Call<[other: Tensor], 'x.logicalXor'>): Tensor {
    const [other] = arranged('x.logicalXor', given);
    const [a, b] = [condition(this.value), condition(other.value)];
    return this.of(elementwise.and(elementwise.or(a, b), elementwise.not(elementwise.and(a, b))));
  }

  /** True where elements are false or 0 (torch.logical_not). */
  logicalNot(): Tensor {
    return this.of(elementwise.not(condition(this.value)));
  }

  /** `logicalAnd` of bool tensors (torch.bitwise_and, Python's &). */
  bitwiseAnd(other: Tensor | boolean): Tensor {
    return this.of(elementwise.and(...conditions('bitwiseAnd', this, other)));
  }

  /** `logicalOr` of bool tensors (torch.bitwise_or, Python's |). */
  bitwiseOr(other: Tensor | boolean): Tensor {
    return this.of(elementwise.or(...conditions('bitwiseOr', this, other)));
  }

  /** `logicalXor` of bool tensors (torch.bitwise_xor, Python's ^). */
  bitwiseXor(other: Tensor | boolean): Tensor {
    const [a, b] = conditions('bitwiseXor', this, other);
    return this.of(elementwise.not(elementwise.equal(a, b)));
  }

  /** `logicalNot` of a bool tensor (torch.bitwise_not, Python's ~). */
  bitwiseNot(): Tensor {
    return this.of(elementwise.not(conditions('bitwiseNot', this, true)[0]));
  }

  /** True where elements are NaN (torch.isnan). */
  isnan(): Tensor {
    return this.of(elementwise.isNaN(this.value));
  }

  /** True where elements are infinite (torch.isinf). */
  isinf(): Tensor {
    return this.of(elementwise.equal(abs(elementwise.cast(this.value, 'float32')), constant(Infinity)));
  }

  /** True where elements are neither infinite nor NaN (torch.isfinite). */
  isfinite(): Tensor {
    return this.of(elementwise.greater(constant(Infinity), abs(elementwise.cast(this.value, 'float32'))));
  }

  /** True where |x − other| ≤ atol + rtol·|other| (torch.isclose). */
  isclose(
    ...given: Call<[other: Tensor, rtol?: number | undefined, atol?: number | undefined], 'x.isclose'>
  ): Tensor {
    const [other, rtol = 1e-5, atol = 1e-8] = arranged('x.isclose', given);
    if (!(rtol >= 0 && atol >= 0)) {
      throw new ArgumentError(`isclose: rtol and atol must be at least 0, got ${rtol} and ${atol}.`);
    }
    const [a, b] = promoted(this, other);
    if (a.dtype === 'bool') return this.eq(other);
    // As in torch, even for int64, whose difference would overflow.
    const [x, y] = [a, b].map((one) => elementwise.cast(one, 'float32'));
    const distance = abs(elementwise.sub(x, y));
    const share = this.of(apply(elementwise.mul, this.of(abs(y)), rtol));
    const limit = apply(elementwise.add, share, atol);
    return this.of(elementwise.greaterOrEqual(limit, distance))
      .logicalAnd(other.isfinite())
      .logicalOr(this.eq(other));
  }
}

/** Both operands of a bitwise function, which must be bool: programs have no bits of integers. */
function conditions(name: string, ...operands: readonly Promotable[]): [Value, Value] {
  const [a, b] = promoted(...operands);
  if (a.dtype === 'bool') return [a, b];
  throw new ShapeError(`${name}: expected bool, got ${describeType(a)}. Compare first, as in x.gt(0).`);
}

function condition(value: Value): Value {
  return elementwise.cast(value, 'bool');
}
