import { createValue, type Value } from '../../graph/node.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';

/** The sum of bfloat16 […, N] over all axes but the last, float32 [N]. */
export function sumRows(x: Value): Value {
  return createValue('SumRows', [x], {}, { dtype: 'float32', shape: x.shape.slice(-1) });
}

export const sumsOfRows: OperatorFamily<'SumRows'> = {
  SumRows: {
    takesBfloat16: true,
    emit: (graph, _, inputs, outputs) => {
      graph.ownNode('SumRows', inputs, outputs);
    },
    gradient: refuseGradient,
  },
};
