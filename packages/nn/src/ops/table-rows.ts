import { createValue, type Value } from '../graph/node.ts';
import type { OperatorFamily } from './definition.ts';
import { addRows } from './own/add-rows.ts';

/** Selects rows of a table: [V, D] and rows [...] (int64) give [..., D]. The padding row receives no gradient. */
export function gather(table: Value, rows: Value, paddingRow?: number): Value {
  const attributes = paddingRow === undefined ? {} : { paddingRow };
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
    gradient: ({ inputs: [table, rows], attributes: { paddingRow } }, [d]) => [
      d && addRows(rows, d, table.shape[0], paddingRow),
    ],
  },
};
