import { createValue, type Value } from '../graph/node.ts';
import type { GatherAttributes } from '../graph/attributes.ts';
import type { OperatorFamily } from './definition.ts';
import { cast, div } from './elementwise.ts';
import { addRows } from './own/add-rows.ts';
import { isSparseLookup, sparseGradientOfGather } from './own/sparse-rows.ts';
import { expand } from './shape.ts';
import { constant } from './source.ts';

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
      const { paddingRow, scalesByFrequency } = node.attributes;
      const updates = scalesByFrequency ? div(cast(d, 'float32'), frequencies(rows, shape[0])) : d;
      const gradientOf = isSparseLookup(node) ? sparseGradientOfGather : addRows;
      return [gradientOf(rows, updates, shape[0], paddingRow)];
    },
  },
};

/** How often each row is among the rows: int64 […] to float32 […, 1]. */
function frequencies(rows: Value, count: number): Value {
  return gather(addRows(rows, expand(constant(1), [...rows.shape, 1]), count), rows);
}
