import { createValue, type Value } from '../graph/node.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import { type OperatorFamily } from './definition.ts';
import { emitReshape } from './shape.ts';

/** Swaps the first and the last of four axes: [A, B, C, D] becomes [D, B, C, A]. */
export function swapOuterAxes(value: Value): Value {
  const { dtype, shape } = value;
  const [first, b, c, last] = shape as [number, number, number, number];
  return createValue('SwapOuterAxes', [value], {}, { dtype, shape: [last, b, c, first] });
}

export const outerAxes: OperatorFamily<'SwapOuterAxes'> = {
  SwapOuterAxes: {
    emit: (graph, { inputs: [{ shape }], outputs: [{ shape: target }] }, [x], [y]) => {
      const [first, b, c, last] = shape as [number, number, number, number];
      const inner = b * c;
      // Rows are moved in runs of the longer axis.
      if (first >= last) {
        const transposed = transposeMatrix(graph, x, [first, inner * last], 0);
        const moved = gatherRows(
          graph,
          transposed,
          rowsInOrder(last, inner, ([a, b]) => b * last + a),
        );
        reshape(graph, moved, target, y);
      } else {
        const rows = reshape(graph, x, [first * inner, last], graph.freshName('rows'));
        const moved = gatherRows(
          graph,
          rows,
          rowsInOrder(inner, first, ([a, b]) => b * inner + a),
        );
        reshape(graph, transposeMatrix(graph, moved, [inner * first, last]), target, y);
      }
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: (_, [d]) => [d && swapOuterAxes(d)],
  },
};

/** Reshapes to a matrix and transposes it. */
function transposeMatrix(graph: GraphBuilder, x: string, shape: readonly number[], open = 1): string {
  const matrix = reshape(graph, x, shape, graph.freshName('matrix'), open);
  const transposed = graph.freshName('transposed');
  graph.node('Transpose', [matrix], [transposed], { perm: [1, 0] });
  return transposed;
}

/**
 * Reorders rows. Uses Gather, because a Transpose that swaps the outer axes moves single numbers, and onnxruntime merges two
 * consecutive Transposes: 0.26 ms for [64,3,32,32], 0.86 ms with Transpose.
 */
function gatherRows(graph: GraphBuilder, matrix: string, order: readonly number[]): string {
  const moved = graph.freshName('moved');
  graph.node('Gather', [matrix, graph.constant('int64', [order.length], order)], [moved], { axis: 0 });
  return moved;
}

function rowsInOrder(
  outer: number,
  inner: number,
  rowAt: (index: readonly [outer: number, inner: number]) => number,
): number[] {
  return Array.from({ length: outer * inner }, (_, row) => rowAt([Math.floor(row / inner), row % inner]));
}

function reshape(graph: GraphBuilder, x: string, shape: readonly number[], y: string, open?: number): string {
  emitReshape(graph, x, shape, y, open);
  return y;
}
