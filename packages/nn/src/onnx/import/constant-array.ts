import type { Scalar } from '../../dtype.ts';
import type { Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import { cast } from '../../ops/elementwise.ts';
import { constantTensor, input, int64Constant } from '../../ops/source.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { dtypeOf, type ElementType } from './element-type.ts';

/** An array of a model whose elements are known before the graph runs, such as a shape. */
export interface ConstantArray {
  readonly type: ElementType;
  readonly shape: readonly number[];
  /** Row-major and exact: integers are bigints, bools 0 or 1. */
  readonly data: ArrayLike<Scalar>;
}

/** A value while a model is traced. */
export type Operand = Tensor | ConstantArray;

/** Larger arrays are leaves of the graph, and are computed before the graph runs only if a shape depends on them. */
export const maxElementsInProgram = 4096;

export function constantArray(
  type: ElementType,
  shape: readonly number[],
  data: ArrayLike<Scalar>,
): ConstantArray {
  return { type, shape, data };
}

/** A list of integers, or an array of them. */
export function integers(data: readonly number[], shape: readonly number[] = [data.length]): ConstantArray {
  return { type: 'int64', shape, data: data.map(BigInt) };
}

/** The elements as numbers, for shapes, axes and positions. */
export function numbersOf({ data }: ConstantArray): number[] {
  return Array.from(data, Number);
}

export function asTensor(operand: Operand): Tensor {
  return operand instanceof Tensor ? operand : new Tensor(valueOf(operand));
}

function valueOf(array: ConstantArray): Value {
  const { type, shape, data } = array;
  const dtype = dtypeOf(type);
  if (sizeOf(shape) > maxElementsInProgram) return input(dtype, shape, { data: typed(array) });
  if (dtype === 'int64') return int64Constant(shape, Array.from(data));
  const floats = constantTensor(shape, numbersOf(array));
  return dtype === 'bool' ? cast(floats, 'bool') : floats;
}

/** The elements in the array of a tensor's dtype, without a copy if they already are. */
export function typed({ type, data }: ConstantArray): Float32Array | BigInt64Array | Uint8Array {
  switch (dtypeOf(type)) {
    case 'float32':
      return data instanceof Float32Array ? data : Float32Array.from(data as ArrayLike<number>);
    case 'int64':
      return data instanceof BigInt64Array ? data : BigInt64Array.from(data as ArrayLike<bigint>);
    case 'bool':
      return Uint8Array.from(data as ArrayLike<number>);
  }
}
