import type { DType } from '../dtype.ts';
import { createNode, createValue, type Value } from '../graph/node.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
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
    emit: (graph, { attributes: { axis }, inputs: [{ dtype }] }, [x], outputs) => {
      graph.node('ArgMax', [ordered(graph, dtype, x, Infinity)], outputs, { axis });
    },
    gradient: noGradient,
  },
  ArgMin: {
    emit: (graph, { attributes: { axis }, inputs: [{ dtype }] }, [x], outputs) => {
      graph.node('ArgMin', [ordered(graph, dtype, x, -Infinity)], outputs, { axis });
    },
    gradient: noGradient,
  },
  TopK: {
    emit: (graph, { attributes: { axis, k, largest }, inputs: [{ dtype }] }, [x], [values, positions]) => {
      const count = graph.constant('int64', [1], [k]);
      const keys = ordered(graph, dtype, x, Infinity);
      graph.node('TopK', [keys, count], [graph.freshName('keys'), positions], {
        axis,
        largest: Number(largest),
      });
      graph.node('GatherElements', [x, positions], [values], { axis });
    },
    gradient: ({ inputs: [x], outputs: [, positions], attributes: { axis } }, [d]) => [
      d && scatterElements(positions, d, x.shape[axis], axis),
    ],
  },
};

/** onnx.TensorProto.DOUBLE */
const DOUBLE = 11;

/**
 * Numbers that sort in torch's order, with NaN beyond both infinities; onnxruntime does not order NaN. In float64, which
 * has numbers between the largest float32 and infinity, infinity makes room for NaN.
 *
 * @param nan where NaN is: Infinity or −Infinity
 */
function ordered(graph: GraphBuilder, dtype: DType, x: string, nan: number): string {
  if (dtype !== 'float32') return x;
  const [isNaN, numbers, limited, keys] = ['isNaN', 'numbers', 'limited', 'keys'].map((name) =>
    graph.freshName(name),
  );
  const double = (number: number) => {
    const name = graph.freshName('double');
    graph.node('Cast', [graph.constant('float32', [], [number])], [name], { to: DOUBLE });
    return name;
  };
  const beyond = graph.freshName('beyond');
  graph.node('Mul', [double(Math.sign(nan) * 2 ** 100), double(2 ** 100)], [beyond]);
  graph.node('IsNaN', [x], [isNaN]);
  graph.node('Cast', [x], [numbers], { to: DOUBLE });
  graph.node(nan > 0 ? 'Min' : 'Max', [numbers, beyond], [limited]);
  graph.node('Where', [isNaN, double(nan), limited], [keys]);
  return keys;
}

function position(op: 'ArgMax' | 'ArgMin', of: Value, axis: number): Value {
  const value = asNumbers(of);
  return createValue(op, [value], { axis }, { dtype: 'int64', shape: value.shape.with(axis, 1) });
}

/** ONNX does not order bool. */
function asNumbers(value: Value): Value {
  return value.dtype === 'bool' ? cast(value, 'int64') : value;
}
