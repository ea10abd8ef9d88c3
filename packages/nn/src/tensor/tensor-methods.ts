import { isFloat, type DType, type FloatDType, type Scalar } from '../dtype.ts';
import { ArgumentError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { int64Number, number } from '../ops/source.ts';
import { cast } from '../ops/elementwise.ts';
import { promotedFloat } from '../ops/promotion.ts';
import { asElement, asFloat, isInt64 } from '../scalar.ts';
import { describeValue } from '../checks/describe-value.ts';

/**
 * What all methods of a tensor use. The classes of this folder add methods by family, and Tensor extends the last one.
 *
 * @typeParam Tensor the class Tensor, which no family imports: it imports them
 */
export abstract class TensorMethods<Tensor extends TensorMethods<Tensor>> {
  /**
   * The tensor's value in the graph.
   *
   * @internal
   */
  abstract readonly value: Value;

  /**
   * Creates a tensor of another value.
   *
   * @internal
   */
  protected abstract of(value: Value): Tensor;

  /** Element type. */
  get dtype(): DType {
    return this.value.dtype;
  }

  /** Length of each dimension; [] for a single number. */
  get shape(): readonly number[] {
    return this.value.shape;
  }
}

/** Operand of {@link promoted}; `this` in methods of a tensor. */
export type Promotable = { readonly value: Value } | Scalar | boolean;

/** From the lowest to the highest. */
const promotionOrder: readonly DType[] = ['bool', 'int64', 'float32'];

/**
 * The values of operands in their common dtype, promoted as in torch. Floats keep their own dtypes, which operators promote by
 * themselves.
 */
export function promoted(...operands: readonly Promotable[]): Value[] {
  let level = 0;
  for (const operand of operands) level = Math.max(level, levelOf(dtypeOf(operand)));
  if (level < levelOf('float32')) return operands.map((operand) => valueIn(promotionOrder[level], operand));
  let common: FloatDType | undefined;
  return operands.map((operand) => {
    if (isTensor(operand) && isFloat(operand.value)) return operand.value;
    common ??= promotedFloat(...operands.filter(isTensor).map(({ value }) => value));
    return valueIn(common, operand);
  });
}

function levelOf(dtype: DType): number {
  return dtype === 'bfloat16' ? 2 : promotionOrder.indexOf(dtype);
}

/** Applies an operator to two operands in their common dtype. */
export function apply(operator: (a: Value, b: Value) => Value, a: Promotable, b: Promotable): Value {
  const [left, right] = promoted(a, b);
  return operator(left, right);
}

/** A fill value for a tensor of this dtype, as an input of the program; see `asElement`. */
export function fillValue(dtype: DType, scalar: Scalar | boolean): Value {
  const element = asElement(asNumber(requireScalar(scalar)), dtype);
  return dtype === 'int64' ? int64Number(element) : cast(number(Number(element)), dtype);
}

/** The dtype of an operand; that of a number is int64 or float32. */
export function dtypeOf(operand: Promotable): DType {
  if (isTensor(operand)) return operand.value.dtype;
  if (typeof operand === 'boolean') return 'bool';
  return typeof operand === 'bigint' || isInt64(asNumber(requireScalar(operand))) ? 'int64' : 'float32';
}

function valueIn(dtype: DType, operand: Promotable): Value {
  if (isTensor(operand)) return cast(operand.value, dtype);
  const scalar = asNumber(operand);
  if (isFloat({ dtype })) return number(asFloat(scalar));
  return dtype === 'bool' ? cast(number(Number(scalar)), dtype) : int64Number(scalar);
}

export function isScalar(operand: unknown): operand is Scalar | boolean {
  return typeof operand === 'number' || typeof operand === 'bigint' || typeof operand === 'boolean';
}

/** A boolean as 0 or 1. */
export function asNumber(scalar: Scalar | boolean): Scalar {
  return typeof scalar === 'boolean' ? Number(scalar) : scalar;
}

function isTensor(operand: Promotable): operand is Exclude<Promotable, Scalar | boolean> {
  return operand instanceof TensorMethods;
}

function requireScalar(given: unknown): Scalar | boolean {
  if (isScalar(given)) return given;
  throw new ArgumentError(
    `operand: expected a tensor, a number, a bigint or a boolean, got ${describeValue(given)}.`,
  );
}

/** The axes of a reduction: an empty list means all, as in torch. */
export function allIfNone(dim: number | readonly number[] | undefined): readonly number[] | undefined {
  if (typeof dim === 'number') return [dim];
  return dim?.length === 0 ? undefined : dim;
}
