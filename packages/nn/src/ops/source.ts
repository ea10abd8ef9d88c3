import type { DType } from '../dtype.ts';
import { createValue, type Value } from '../graph/node.ts';
import type { Source } from '../graph/operators.ts';
import { noGradient, type OperatorFamily } from './definition.ts';

/** A leaf that reads `source` whenever the graph runs. */
export function input(dtype: DType, shape: readonly number[], source: Source): Value {
  return createValue('Input', [], { source }, { dtype, shape });
}

/** A float32 scalar that is part of the program. A number that changes between runs is an input: each value would compile anew. */
export function constant(value: number): Value {
  return constantTensor([], [value]);
}

/** A small float32 tensor that is part of the program. */
export function constantTensor(shape: readonly number[], values: readonly number[]): Value {
  return createValue('Constant', [], { shape, values }, { dtype: 'float32', shape });
}

export const sources: OperatorFamily<'Input' | 'Constant'> = {
  Input: {
    emit: () => {
      throw new Error('An Input is declared by the program that it feeds, not emitted as a node.');
    },
    gradient: noGradient,
  },
  Constant: {
    emit: (graph, { attributes }, _, outputs) => {
      graph.node('Identity', [graph.constant('float32', attributes.shape, attributes.values)], outputs);
    },
    gradient: noGradient,
  },
};
