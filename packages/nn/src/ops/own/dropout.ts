import { createValue, type Value } from '../../graph/node.ts';
import type { OperatorFamily } from '../definition.ts';

/**
 * Applies the mask of a key to x. The mask is not stored: the gradient recomputes it.
 *
 * @param numbers int64 [2]: key, and largest 32-bit number of an element that is kept
 * @param scale factor of elements that are kept, a float32 scalar
 */
export function dropout(x: Value, numbers: Value, scale: Value): Value {
  return createValue('Dropout', [x, numbers, scale], {}, x);
}

export const dropouts: OperatorFamily<'Dropout'> = {
  Dropout: {
    emit: (graph, _, inputs, outputs) => {
      graph.ownNode('Dropout', inputs, outputs);
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [, numbers, scale] }, [d]) => [d && dropout(d, numbers, scale)],
  },
};
