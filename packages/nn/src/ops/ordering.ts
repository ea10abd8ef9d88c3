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
  of: Value,
  k: number,
  axis: number,
  largest: boolean,
): { values: Value; positions: Value } {
  const value = asNumbers(of);
  const shape = value.shape.with(axis, k);
  const types = [{ dtype: value.dtype, shape }, { dtype: 'int64', shape } as const];
  const [values, positions] = createNode('TopK', [value], { axis, k, largest }, types).outputs;
  return { values: cast(values, of.dtype), positions };
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

function position(op: 'ArgMax' | 'ArgMin', of: Value, axis: number): Value {
  const value = asNumbers(of);
  return createValue(op, [value], { axis }, { dtype: 'int64', shape: value.shape.with(axis, 1) });
}

/** ONNX orders no conditions. */
function asNumbers(value: Value): Value {
  return value.dtype === 'bool' ? cast(value, 'int64') : value;
}
