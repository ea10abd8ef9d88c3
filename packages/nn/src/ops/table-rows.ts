import { createValue, type Value } from '../graph/node.ts';
import type { GatherAttributes } from '../graph/attributes.ts';
import type { OperatorFamily } from './definition.ts';
import { addRows } from './own/add-rows.ts';
import { isSparseLookup, sparseGradientOfGather } from './own/sparse-rows.ts';

/** Selects rows of a table: [V, D] and rows [...] (int64) give [..., D]. */
export function gather(table: Value, rows: Value, attributes: GatherAttributes = {}): Value {
  const type = { dtype: table.dtype, shape: [...rows.shape, table.shape[1]] };
  return createValue('Gather', [table, rows], attributes, type);
}

export const tableRows: OperatorFamily<'Gather'> = {
  Gather: {
    emit: (graph, _, inputs, outputs) => {
      graph.node('Gather', inputs, outputs, { axis: 0 });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: (node, [d]) => {
      if (d === undefined) return [];
      const [{ shape }, rows] = node.inputs;
      const gradientOf = isSparseLookup(node) ? sparseGradientOfGather : addRows;
      return [gradientOf(rows, d, shape[0], node.attributes.paddingRow)];
    },
  },
};
