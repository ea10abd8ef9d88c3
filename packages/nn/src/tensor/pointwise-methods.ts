import { arranged, isNamed } from '../calls/arrange.ts';
import type { Signatures } from '../calls/signatures.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import type { Arranged, Call } from '../calls/call.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { isFloat, type DType, type Scalar } from '../dtype.ts';
import { clampToScalars, clampToTensors } from '../ops/clamp.ts';
import * as elementwise from '../ops/elementwise.ts';
import * as functions from '../ops/functions.ts';
import { floorDivide, fmod, remainder, truncate, truncatedDivide } from '../ops/division.ts';
import { power, powerOfTensor } from '../ops/integer-power.ts';
import { expand } from '../ops/shape.ts';
import { constant } from '../ops/source.ts';
import { TrigonometricMethods } from './trigonometric-methods.ts';
import { withSlopes } from '../ops/with-slope.ts';
import { apply, asNumber, dtypeOf, isScalar, promoted, type Promotable } from './tensor-methods.ts';

/** The largest finite number of a dtype of floats. */
const largestOf = (dtype: DType) => (2 - (dtype === 'bfloat16' ? 2 ** -7 : 2 ** -23)) * 2 ** 127;

/** Options of `add` and `sub`. */
export interface SumOptions {
  /** Factor of the second operand; an integer if both operands are integers. Default: 1. */
  alpha?: Scalar;
}

/** Options of `div`. */
export interface QuotientOptions {
  /** 'trunc', 'floor', or null for a quotient that is not rounded. Default: null. */
  roundingMode?: 'trunc' | 'floor' | null;
}

/** Elementwise functions: arithmetic, powers, exponentials and logarithms, rounding, clamping. */
export abstract class PointwiseMethods<
  Tensor extends PointwiseMethods<Tensor>,
> extends TrigonometricMethods<Tensor> {
  /**
   * Sum, elementwise; shapes broadcast and dtypes are promoted as in torch (see {@link Operand}). A different number
   * does not recompile the graph. Sums of int64 wrap around at 2^63.
   */
  add(...given: Call<[other: Tensor | Scalar | boolean, options?: SumOptions | undefined], 'x.add'>): Tensor {
    const [other, { alpha }] = operandOf('x.add', given);
    return this.of(apply(elementwise.add, this, scaled('add', this, other, alpha)));
  }

  /**
   * Difference, elementwise; see `add`.
   *
   * @throws ShapeError if an operand is bool, as in torch
   */
  sub(...given: Call<[other: Tensor | Scalar | boolean, options?: SumOptions | undefined], 'x.sub'>): Tensor {
    const [other, { alpha }] = operandOf('x.sub', given);
    for (const operand of [this, other]) requireNumbers(operand);
    return this.of(apply(elementwise.sub, this, scaled('sub', this, other, alpha)));
  }

  /** Product, elementwise; see `add`. */
  mul(...given: Call<[other: Tensor | Scalar | boolean], 'x.mul'>): Tensor {
    const [other] = operandOf('x.mul', given);
    return this.of(apply(elementwise.mul, this, other));
  }

  /**
   * Quotient, elementwise (torch.div); shapes broadcast. Without a rounding mode it is in float32, even of integers, like torch's
   * `/`. The option `roundingMode` is 'trunc' (towards 0) or 'floor', which keep int64 exact and have no gradient.
   *
   * @throws ArgumentError for another rounding mode; see `remainder` for int64 divisors of 0
   */
  div(
    ...given: Call<[other: Tensor | Scalar | boolean, options?: QuotientOptions | undefined], 'x.div'>
  ): Tensor {
    const [other, { roundingMode }] = operandOf('x.div', given);
    if (roundingMode === undefined || roundingMode === null)
      return this.of(apply(elementwise.div, this, other));
    requireOneOf('div', 'roundingMode', roundingMode, ['trunc', 'floor']);
    return this.of(apply(roundingMode === 'floor' ? floorDivide : truncatedDivide, this, other));
  }

  /** ⌊x / other⌋ (torch.floor_divide, Python's //), for float32 or int64. Without a gradient. Divisors of 0: see `remainder`. */
  floorDivide(...given: Call<[other: Tensor | Scalar | boolean], 'x.floorDivide'>): Tensor {
    const [other] = arranged('x.floorDivide', given);
    return this.of(apply(floorDivide, this, other));
  }

  /**
   * Remainder with the sign of the divisor (torch.remainder, Python's %), for float32 or int64. A computed int64 divisor may be
   * 0, which gives 0, as in numpy.
   *
   * @throws ArgumentError if an int64 divisor that is a number or a tensor made by `tensor(…)` is 0; torch raises
   *   ZeroDivisionError
   */
  remainder(...given: Call<[other: Tensor | Scalar | boolean], 'x.remainder'>): Tensor {
    const [other] = arranged('x.remainder', given);
    return this.of(apply(remainder, this, other));
  }

  /** Remainder with the sign of this tensor (torch.fmod), for float32 or int64. Divisors of 0: see `remainder`. */
  fmod(...given: Call<[other: Tensor | Scalar | boolean], 'x.fmod'>): Tensor {
    const [other] = arranged('x.fmod', given);
    return this.of(apply(fmod, this, other));
  }

  /** −x, elementwise. */
  neg(): Tensor {
    return this.of(elementwise.neg(this.value));
  }

  /** |x|, elementwise. */
  abs(): Tensor {
    return this.of(functions.abs(this.value));
  }

  /** −1, 0 or 1. Without a gradient. */
  sign(): Tensor {
    return this.of(functions.sign(this.value));
  }

  /** 1/x */
  reciprocal(): Tensor {
    return this.of(elementwise.div(constant(1), this.value));
  }

  /**
   * x + weight·(end − x) (torch.lerp). As in torch, interpolates from the nearer end, so that a weight of 1 gives `end` exactly.
   */
  lerp(...given: Call<[end: Tensor, weight: Tensor | Scalar | boolean], 'x.lerp'>): Tensor {
    const [end, weight] = arranged('x.lerp', given);
    const [start, stop, share] = promoted(this, end, weight);
    const rest = elementwise.sub(constant(1), share);
    const difference = elementwise.sub(stop, start);
    const fromStart = elementwise.add(start, elementwise.mul(difference, share));
    const fromEnd = elementwise.sub(stop, elementwise.mul(difference, rest));
    const isNearStart = elementwise.greater(constant(0.5), functions.abs(share));
    const result = elementwise.where(isNearStart, fromStart, fromEnd);
    return this.of(withSlopes(result, [start, rest], [stop, share], [share, difference]));
  }

  /**
   * Raises each element to a power (torch.pow); shapes broadcast and dtypes are promoted as in torch (see {@link Operand}). An
   * exponent that is a number is part of the compiled graph. A power of int64 with an integer is exact, and wraps around at
   * 2^63; an exponent above 63 in a tensor counts as 62 or 63, which keeps its sign.
   *
   * @throws ArgumentError for a negative integer exponent of int64 that is a number, as in torch
   */
  pow(...given: Call<[exponent: Tensor | Scalar | boolean], 'x.pow'>): Tensor {
    const [exponent] = arranged('x.pow', given);
    const isNumber = typeof exponent === 'number' || typeof exponent === 'bigint';
    return this.of(isNumber ? power(this.value, exponent) : apply(powerOfTensor, this, exponent));
  }

  /** x² */
  square(): Tensor {
    return this.of(power(this.value, 2));
  }

  /** Square root, elementwise. */
  sqrt(): Tensor {
    return this.of(elementwise.sqrt(this.value));
  }

  /** 1/√x */
  rsqrt(): Tensor {
    return this.of(elementwise.div(constant(1), elementwise.sqrt(this.value)));
  }

  /** eˣ, elementwise. */
  exp(): Tensor {
    return this.of(elementwise.exp(this.value));
  }

  /** 2ˣ */
  exp2(): Tensor {
    return this.of(
      elementwise.exp(elementwise.mul(elementwise.cast(this.value, 'float32'), constant(Math.LN2))),
    );
  }

  /** eˣ − 1, precise even for small |x| (torch.expm1). */
  expm1(): Tensor {
    const isNear = this.float().abs().le(1);
    const small = this.float().maskedFill(isNear.logicalNot(), 0).mul(0.5).tanh();
    const near = small.mul(2).div(small.neg().add(1));
    return near.where(isNear, this.of(elementwise.exp(this.value)).sub(1));
  }

  /** Natural logarithm, elementwise. */
  log(): Tensor {
    return this.of(elementwise.log(this.value));
  }

  /** log(1 + x). Less precise than torch.log1p for |x| below 1e-4, because it computes the sum first. */
  log1p(): Tensor {
    return this.of(elementwise.log(elementwise.add(constant(1), elementwise.cast(this.value, 'float32'))));
  }

  /** Logarithm to the base 2. */
  log2(): Tensor {
    return this.of(elementwise.mul(elementwise.log(this.value), constant(Math.LOG2E)));
  }

  /** Logarithm to the base 10. */
  log10(): Tensor {
    return this.of(elementwise.mul(elementwise.log(this.value), constant(Math.LOG10E)));
  }

  /** log(eˣ + eʸ), without overflow (torch.logaddexp). */
  logaddexp(...given: Call<[other: Tensor], 'x.logaddexp'>): Tensor {
    const [other] = arranged('x.logaddexp', given);
    const difference = this.of(apply(elementwise.sub, this, other)).abs();
    const sum = this.of(this.value)
      .maximum(other)
      .add(this.of(functions.softplus(elementwise.neg(difference.value))));
    // The difference of equal infinities is NaN.
    return this.where(this.isinf().logicalAnd(this.eq(other)), sum);
  }

  /** x·log y, 0 where x is 0 (torch.xlogy). */
  xlogy(...given: Call<[other: Tensor | Scalar | boolean], 'x.xlogy'>): Tensor {
    const [other] = arranged('x.xlogy', given);
    const [x, y] = promoted(this.float(), other);
    const isZero = elementwise.equal(x, constant(0));
    const isEdge = elementwise.and(isZero, elementwise.greaterOrEqual(constant(0), y));
    const logarithm = elementwise.where(isEdge, constant(0), elementwise.log(y));
    const isNothing = elementwise.and(isZero, elementwise.not(elementwise.isNaN(y)));
    const product = elementwise.where(isNothing, constant(0), elementwise.mul(x, logarithm));
    // The gradient of y is (d·x) / y in this order.
    const ofProduct = elementwise.log(expand(y, product.shape));
    return this.of(withSlopes(product, [x, logarithm], [ofProduct, x]));
  }

  /** log(x / (1 − x)) (torch.logit). `eps` clamps x to [eps, 1 − eps]. Default: no clamping. */
  logit(...given: Call<[eps?: number | undefined], 'x.logit'>): Tensor {
    const [eps] = arranged('x.logit', given);
    const x = this.float();
    const isLimited = eps === undefined ? undefined : x.lt(eps).logicalOr(x.gt(1 - eps));
    const inside = isLimited ? x.maskedFill(x.gt(1 - eps!), 1 - eps!).maskedFill(x.lt(eps!), eps!) : x;
    const logarithm = inside.log().sub(inside.neg().add(1).log());
    const slope = x.mul(x.neg().add(1)).reciprocal();
    const slopes = isLimited
      ? slope.maskedFill(isLimited, 0)
      : slope.maskedFill(x.lt(0).logicalOr(x.gt(1)), NaN);
    return this.of(withSlopes(logarithm.value, [x.value, slopes.value]));
  }

  /** 1 / (1 + exp(−x)) */
  sigmoid(): Tensor {
    return this.of(functions.sigmoid(this.value));
  }

  /** The error function, 2/√π · ∫₀ˣ exp(−t²) dt. */
  erf(): Tensor {
    return this.of(functions.erf(this.value));
  }

  /** max(x, 0), elementwise. */
  relu(): Tensor {
    return this.of(elementwise.relu(this.value));
  }

  /** Rounds down to an integer (torch.floor). Without a gradient. */
  floor(): Tensor {
    return this.of(functions.floor(this.value));
  }

  /** Rounds up to an integer (torch.ceil). Without a gradient. */
  ceil(): Tensor {
    return this.of(functions.ceil(this.value));
  }

  /** Rounds to the nearest integer, ties to even (torch.round). Without a gradient. */
  round(): Tensor {
    return this.of(functions.round(this.value));
  }

  /** Rounds towards 0 (torch.trunc). Without a gradient. */
  trunc(): Tensor {
    return this.of(truncate(this.value));
  }

  /** x − trunc x (torch.frac). */
  frac(): Tensor {
    return this.of(elementwise.sub(this.value, truncate(this.value)));
  }

  /** Elementwise maximum (torch.maximum). Equal elements receive half of the gradient each. */
  maximum(...given: Call<[other: Tensor | Scalar | boolean], 'x.maximum'>): Tensor {
    const [other] = arranged('x.maximum', given);
    return this.of(apply(functions.maximum, this, other));
  }

  /** Elementwise minimum (torch.minimum). Equal elements receive half of the gradient each. */
  minimum(...given: Call<[other: Tensor | Scalar | boolean], 'x.minimum'>): Tensor {
    const [other] = arranged('x.minimum', given);
    return this.of(apply(elementwise.min, this, other));
  }

  /**
   * Clamps each element to [min, max] (torch.clamp); null: no limit on that side. Dtypes are promoted (see {@link Operand}).
   * NaN, as an element or a limit, gives NaN. The gradient is 0 outside of the limits, and at a limit that is a number; a limit
   * that is a tensor shares it with the element. If `min` is above `max`, all elements are `max`.
   */
  clamp(
    ...given: Call<
      [
        min?: Tensor | Scalar | boolean | null | undefined,
        max?: Tensor | Scalar | boolean | null | undefined,
      ],
      'x.clamp'
    >
  ): Tensor {
    const [min = null, max = null] = arranged('x.clamp', given);
    if (min === null && max === null) {
      throw new ArgumentError('clamp: expected min, max or both, got neither.');
    }
    const isScalars = [min, max].every((limit) => limit === null || isScalar(limit));
    const [lower, upper] = isScalars ? inOrder(asLimit(min), asLimit(max)) : [min, max];
    const [x, ...limits] = promoted(this, ...[lower, upper].filter((limit) => limit !== null));
    const least = lower === null ? undefined : limits[0];
    const most = upper === null ? undefined : limits.at(-1);
    return this.of((isScalars ? clampToScalars : clampToTensors)(x, least, most));
  }

  /** Replaces NaN and infinities (torch.nan_to_num). Defaults: 0, and the largest and smallest finite number of the dtype. */
  nanToNum(
    ...given: Call<
      [nan?: number | undefined, posinf?: number | undefined, neginf?: number | undefined],
      'x.nanToNum'
    >
  ): Tensor {
    const [nan = 0, posinf = largestOf(this.value.dtype), neginf = -largestOf(this.value.dtype)] = arranged(
      'x.nanToNum',
      given,
    );
    if (!isFloat(this.value)) return this.of(this.value);
    const finite = this.maskedFill(this.isnan(), nan);
    return finite.maskedFill(finite.eq(Infinity), posinf).maskedFill(finite.eq(-Infinity), neginf);
  }
}

function requireNumbers(operand: Promotable): void {
  if (dtypeOf(operand) !== 'bool') return;
  const got = isScalar(operand) ? String(operand) : describeType(operand.value);
  throw new ShapeError(
    `sub: expected float32, bfloat16 or int64, got ${got}. Call logicalNot() to invert a condition, logicalXor(y) for differences, or float() for numbers.`,
  );
}

function asLimit(limit: unknown): Scalar | null {
  return limit === null ? null : asNumber(limit as Scalar | boolean);
}

/** Limits that may be applied in any order with the same result; both are NaN if one is. */
function inOrder(min: Scalar | null, max: Scalar | null): [Scalar | null, Scalar | null] {
  if (Number.isNaN(min) || Number.isNaN(max)) return [NaN, NaN];
  return min !== null && max !== null && min > max ? [max, max] : [min, max];
}

/** `arranged`, which most calls of arithmetic, of one operand, do not need. */
function operandOf<Usual extends readonly unknown[], Name extends 'x.add' | 'x.sub' | 'x.mul' | 'x.div'>(
  key: Name,
  given: Call<Usual, Name>,
): Arranged<Usual, Signatures[Name]> {
  const args: readonly unknown[] = given;
  if (args.length !== 1 || isNamed(args[0])) return arranged(key, given);
  return [args[0], {}] as unknown as Arranged<Usual, Signatures[Name]>;
}

/** The second operand of a sum times `alpha`. */
function scaled<Tensor extends PointwiseMethods<Tensor>>(
  name: string,
  x: Promotable,
  other: Tensor | Scalar | boolean,
  alpha: Scalar = 1,
): Tensor | Scalar | boolean {
  if (alpha === 1) return other;
  const areIntegers = [x, other].every((operand) => !isFloat({ dtype: dtypeOf(operand) }));
  if (areIntegers && typeof alpha === 'number' && !Number.isInteger(alpha)) {
    throw new ArgumentError(
      `${name}: alpha must be an integer for integer operands, got ${alpha}. Use x.float().`,
    );
  }
  return isScalar(other) ? product(other, alpha) : other.mul(alpha);
}

function product(a: Scalar | boolean, b: Scalar): Scalar {
  if (typeof a === 'bigint' && typeof b === 'bigint') return a * b;
  return Number(a) * Number(b);
}
