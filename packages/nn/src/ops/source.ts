import type { DType } from '../dtype.ts';
import { asInt64 } from '../scalar.ts';
import { createValue, type Value } from '../graph/node.ts';
import type { ValueType } from '../value-type.ts';
import type { Source } from '../graph/source.ts';
import { noGradient, type OperatorFamily } from './definition.ts';

/** A leaf that reads `source` whenever the graph runs. */
export function input(dtype: DType, shape: readonly number[], source: Source): Value {
  return createValue('Input', [], { source }, { dtype, shape });
}

/** A float32 scalar that is an input of every run, because a caller's number may change from step to step. */
export function number(value: number): Value {
  return createValue('Number', [], { value }, { dtype: 'float32', shape: [] });
}

/**
 * An int64 scalar that is an input of every run, like `number`.
 *
 * @throws ArgumentError unless it is an integer from -2^63 to 2^63 - 1
 */
export function int64Number(integer: number | bigint): Value {
  return createValue('Number', [], { value: asInt64(integer) }, { dtype: 'int64', shape: [] });
}

/** A float32 scalar that is part of the program, for an operator's formula. Each value is a different program (see `number`). */
export function constant(value: number): Value {
  return constantTensor([], [value]);
}

/** A small float32 tensor that is part of the program. */
export function constantTensor(shape: readonly number[], values: readonly number[]): Value {
  return createValue('Constant', [], { shape, values }, { dtype: 'float32', shape });
}

/**
 * Integers that are part of the program.
 *
 * @throws ArgumentError unless they are integers from -2^63 to 2^63 - 1
 */
export function int64Constant(shape: readonly number[], integers: Iterable<number | bigint>): Value {
  const values = Array.from(integers, asInt64);
  return createValue('Constant', [], { shape, values, dtype: 'int64' }, { dtype: 'int64', shape });
}

/** A value without elements. */
export function emptyConstant({
  dtype,
  shape,
}: ValueType & { readonly dtype: Exclude<DType, 'bfloat16'> }): Value {
  const attributes = { shape, values: [], ...(dtype !== 'float32' && { dtype }) };
  return createValue('Constant', [], attributes, { dtype, shape });
}

export const sources: OperatorFamily<'Input' | 'Number' | 'Constant'> = {
  Input: {
    emit: () => {
      throw new Error('An Input is declared by the program that it feeds, not emitted as a node.');
    },
    gradient: noGradient,
  },
  Number: {
    // Emitted only where it is not a leaf, as in an exported model.
    emit: (graph, { attributes: { value }, outputs: [{ dtype }] }, _, outputs) => {
      graph.node('Identity', [graph.constant(dtype, [], [value])], outputs);
    },
    gradient: noGradient,
  },
  Constant: {
    emit: (graph, { attributes: { shape, values }, outputs: [{ dtype }] }, _, outputs) => {
      graph.node('Identity', [graph.constant(dtype, shape, values)], outputs);
    },
    gradient: noGradient,
  },
};
