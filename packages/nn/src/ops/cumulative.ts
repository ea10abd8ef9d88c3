import { createValue, type Value } from '../graph/node.ts';
import type { OperatorFamily } from './definition.ts';
import { cast } from './elementwise.ts';

/** Sums of the elements up to each along an axis; with `reverse`, from each to the last. */
export function cumulativeSum(of: Value, axis: number, reverse = false): Value {
  const value = of.dtype === 'bool' ? cast(of, 'int64') : of;
  return createValue('CumSum', [value], { axis, reverse }, value);
}

export const cumulative: OperatorFamily<'CumSum'> = {
  CumSum: {
    emit: (graph, { attributes: { axis, reverse } }, inputs, outputs) => {
      const along = graph.constant('int64', [], [axis]);
      graph.node('CumSum', [...inputs, along], outputs, { reverse: Number(reverse) });
    },
    gradient: ({ attributes: { axis, reverse } }, [d]) => [d && cumulativeSum(d, axis, !reverse)],
  },
};
