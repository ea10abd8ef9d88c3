import { createNode, createValue, type Value } from '../graph/node.ts';
import { noGradient, type OperatorFamily } from './definition.ts';
import { cast } from './elementwise.ts';
import { scatterElements } from './indexing.ts';

/** Position (int64) of the first of the largest elements along an axis, which stays as 1. */
export const argMax = (value: Value, axis: number): Value => position('ArgMax', value, axis);

/** Position (int64) of the first of the smallest elements along an axis, which stays as 1. */
export const argMin = (value: Value, axis: number): Value => position('ArgMin', value, axis);

/** The `k` largest (or smallest) elements along an axis, in order, and their positions (int64). */
export function topK(
  value: Value,
  k: number,
  axis: number,
  largest: boolean,
): { values: Value; positions: Value } {
  if (value.dtype === 'bool') {
    const { values, positions } = topK(cast(value, 'int64'), k, axis, largest);
    return { values: cast(values, 'bool'), positions };
  }
  const shape = value.shape.with(axis, k);
  const types = [{ dtype: value.dtype, shape }, { dtype: 'int64', shape } as const];
  const [values, positions] = createNode('TopK', [value], { axis, k, largest }, types).outputs;
  return { values, positions };
}

export const ordering: OperatorFamily<'ArgMax' | 'ArgMin' | 'TopK'> = {
  ArgMax: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      graph.node('ArgMax', inputs, outputs, { axis });
    },
    gradient: noGradient,
  },
  ArgMin: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      graph.node('ArgMin', inputs, outputs, { axis });
    },
    gradient: noGradient,
  },
  TopK: {
    emit: (graph, { attributes: { axis, k, largest } }, inputs, outputs) => {
      // ONNX computes both outputs, so each needs a name.
      const named = outputs.map((name) => name || graph.freshName('unread'));
      const count = graph.constant('int64', [1], [k]);
      graph.node('TopK', [...inputs, count], named, { axis, largest: Number(largest) });
    },
    gradient: ({ inputs: [x], outputs: [, positions], attributes: { axis } }, [d]) => [
      d && scatterElements(positions, d, x.shape[axis], axis),
    ],
  },
};

function position(op: 'ArgMax' | 'ArgMin', value: Value, axis: number): Value {
  const numbers = value.dtype === 'bool' ? cast(value, 'int64') : value;
  return createValue(op, [numbers], { axis }, { dtype: 'int64', shape: value.shape.with(axis, 1) });
}
