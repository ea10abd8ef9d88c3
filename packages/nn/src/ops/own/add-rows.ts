import { createValue, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import type { OperatorFamily } from '../definition.ts';
import { equal, where } from '../elementwise.ts';
import { scatterElements } from '../indexing.ts';
import { expand, reshape } from '../shape.ts';
import { constant, int64Constant } from '../source.ts';

/**
 * Adds updates in order to the rows of a table of zeros: the gradient of `gather`.
 *
 * @param rows int64 […]
 * @param updates […, D]
 * @param count rows of the table
 * @param paddingRow a row that stays 0. Default: none.
 * @returns [count, D]
 */
export function addRows(rows: Value, updates: Value, count: number, paddingRow?: number): Value {
  const attributes = paddingRow === undefined ? { count } : { count, paddingRow };
  const type = { dtype: updates.dtype, shape: [count, updates.shape.at(-1)!] };
  return createValue('AddRows', [rows, updates], attributes, type);
}

export const rowSums: OperatorFamily<'AddRows'> = {
  AddRows: {
    plain: ({ inputs: [rows, given], outputs: [{ shape }], attributes: { count, paddingRow } }) => {
      const targets = reshape(rows, [sizeOf(rows.shape), 1]);
      const updates = reshape(given, [sizeOf(rows.shape), shape[1]]);
      const masked =
        paddingRow === undefined
          ? updates
          : where(equal(targets, int64Constant([], [paddingRow])), constant(0), updates);
      return [scatterElements(expand(targets, updates.shape), masked, count)];
    },
    emit: (graph, { attributes: { count, paddingRow = -1 } }, inputs, outputs) => {
      graph.ownNode('AddRows', inputs, outputs, { count, padding: paddingRow });
    },
    gradient: 'ofPlain',
  },
};
