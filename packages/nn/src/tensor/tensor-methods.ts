import type { DType } from '../dtype.ts';
import type { Value } from '../graph/node.ts';
import { number } from '../ops/source.ts';
import { cast } from '../ops/elementwise.ts';
import type { Tensor } from '../tensor.ts';

/** What all methods of a tensor use. The classes of this folder add methods by family, and Tensor extends the last one. */
export abstract class TensorMethods {
  /**
   * The tensor's value in the graph.
   *
   * @internal
   */
  abstract readonly value: Value;

  /**
   * A tensor of another value.
   *
   * @internal
   */
  protected abstract of(value: Value): Tensor;
}

/** A tensor, or a number, which is part of no program: another number does not compile again. */
export type Operand = Tensor | number;

/** The value of an operand; a number gets this dtype. */
export function valueOf(operand: Operand, dtype: DType = 'float32'): Value {
  return typeof operand === 'number' ? cast(number(operand), dtype) : operand.value;
}

/** The axes of a reduction: an empty list stands for all, as in torch. */
export function allIfNone(axes: readonly number[] | undefined): readonly number[] | undefined {
  return axes?.length === 0 ? undefined : axes;
}
