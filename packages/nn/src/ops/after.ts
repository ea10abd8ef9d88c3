import { createValue, sizeOf, type Value } from '../graph/node.ts';
import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { dataTypeCode } from '../onnx/schema.ts';
import { noGradient, type OperatorFamily } from './definition.ts';

/**
 * A small value, which nobody can read before the other one is computed. onnxruntime computes a graph in an order of its own, and makes one of equal nodes: with this
 * for an operand, an operator is computed late, and is not equal to another.
 */
export function after(value: Value, other: Value): Value {
  return createValue('After', [value, other], {}, value);
}

export const afters: OperatorFamily<'After'> = {
  After: {
    emit: (graph, { inputs: [, other] }, [value, trigger], [y]) => {
      // Nothing can be had of an empty array, and what waits for it is empty too.
      if (sizeOf(other.shape) === 0) graph.node('Identity', [value], [y]);
      else graph.node('Add', [value, zeroOf(graph, trigger)], [y]);
    },
    gradient: noGradient,
  },
};

/** A zero [1] that is computed from the first element of an array, whatever that is. */
function zeroOf(graph: GraphBuilder, array: string): string {
  const [flat, first, exceeds, zero] = ['flat', 'first', 'exceeds', 'zero'].map((name) =>
    graph.freshName(name),
  );
  const position = (at: number) => graph.constant('int64', [1], [at]);
  graph.node('Reshape', [array, position(-1)], [flat]);
  graph.node('Slice', [flat, position(0), position(1)], [first]);
  // Nothing is larger than infinity, NaN included.
  graph.node('Greater', [first, graph.constant('float32', [], [Infinity])], [exceeds]);
  graph.node('Cast', [exceeds], [zero], { to: dataTypeCode.float32 });
  return zero;
}
