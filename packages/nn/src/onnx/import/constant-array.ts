import type { DType } from '../../dtype.ts';
import { sizeOf, type Value } from '../../graph/node.ts';
import { cast } from '../../ops/elementwise.ts';
import { constantTensor, input, int64Constant } from '../../ops/source.ts';
import { Tensor } from '../../tensor.ts';

/** An array of a model whose elements are known before the graph runs, such as a shape. Integers and conditions are numbers. */
export interface ConstantArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: ArrayLike<number>;
}

/** A value while a model is traced. */
export type Operand = Tensor | ConstantArray;

/** Larger arrays are leaves of the graph. */
const maxElementsInProgram = 4096;

export function constantArray(
  dtype: DType,
  shape: readonly number[],
  data: ArrayLike<number>,
): ConstantArray {
  return { dtype, shape, data };
}

/** A list of integers. */
export function integers(data: ArrayLike<number>, shape: readonly number[] = [data.length]): ConstantArray {
  return { dtype: 'int64', shape, data };
}

export function asTensor(operand: Operand): Tensor {
  return operand instanceof Tensor ? operand : new Tensor(valueOf(operand));
}

function valueOf({ dtype, shape, data }: ConstantArray): Value {
  if (sizeOf(shape) > maxElementsInProgram) return input(dtype, shape, { data: typed(dtype, data) });
  const values = Array.from(data);
  if (dtype === 'int64') return int64Constant(shape, values);
  const floats = constantTensor(shape, values);
  return dtype === 'bool' ? cast(floats, 'bool') : floats;
}

function typed(dtype: DType, data: ArrayLike<number>) {
  switch (dtype) {
    case 'float32':
      return Float32Array.from(data);
    case 'int64':
      return BigInt64Array.from(Array.from(data), BigInt);
    case 'bool':
      return Uint8Array.from(data);
  }
}
