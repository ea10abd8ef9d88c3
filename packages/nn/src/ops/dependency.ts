import { createValue, type Value } from '../graph/node.ts';
import { sizeOf } from '../value-type.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import { dataTypeCode } from '../onnx-format/type-codes.ts';
import { usesOwnOperators } from './own/enabled.ts';
import type { OperatorFamily } from './definition.ts';

/**
 * Returns a small value that depends on another one, so that its readers are computed late. onnxruntime chooses its own
 * order and merges equal nodes; the dependency prevents both.
 */
export function addDependency(value: Value, other: Value): Value {
  return createValue('AddDependency', [value, other], {}, value);
}

/** Marks a value that enters or leaves a part of a graph that is recomputed in the backward pass. */
export function checkpointBoundary(value: Value, side: 'input' | 'output'): Value {
  return createValue('Checkpoint', [value], { side }, value);
}

export const dependencies: OperatorFamily<'AddDependency' | 'Checkpoint'> = {
  Checkpoint: {
    emit: (graph, _, inputs, outputs) => {
      graph.node('Identity', inputs, outputs);
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: (_, [gradient]) => [gradient],
  },

  AddDependency: {
    emit: (graph, { inputs: [{ dtype }, other] }, [value, trigger], [y]) => {
      // An empty array has no element to depend on, and its readers are empty too.
      if (sizeOf(other.shape) === 0) graph.node('Identity', [value], [y]);
      else if (usesOwnOperators()) graph.ownNode('AddDependency', [value, trigger], [y]);
      else if (dtype !== 'bfloat16') graph.node('Add', [value, zeroOf(graph, trigger)], [y]);
      else {
        const [wide, sum] = [graph.freshName('wide'), graph.freshName('sum')];
        graph.node('Cast', [value], [wide], { to: dataTypeCode.float32 });
        graph.node('Add', [wide, zeroOf(graph, trigger)], [sum]);
        graph.node('Cast', [sum], [y], { to: dataTypeCode.bfloat16 });
      }
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: (_, [gradient]) => [gradient],
  },
};

/** A zero, [1], computed from the first element of an array, for every value. */
function zeroOf(graph: GraphBuilder, array: string): string {
  const [flat, first, number, exceeds, zero] = ['flat', 'first', 'number', 'exceeds', 'zero'].map((name) =>
    graph.freshName(name),
  );
  const position = (at: number) => graph.constant('int64', [1], [at]);
  graph.node('Reshape', [array, position(-1)], [flat]);
  graph.node('Slice', [flat, position(0), position(1)], [first]);
  graph.node('Cast', [first], [number], { to: dataTypeCode.float32 });
  // Always false, even for NaN.
  graph.node('Greater', [number, graph.constant('float32', [], [Infinity])], [exceeds]);
  graph.node('Cast', [exceeds], [zero], { to: dataTypeCode.float32 });
  return zero;
}
