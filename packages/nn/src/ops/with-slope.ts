import { createValue, type Value } from '../graph/node.ts';
import { sumToShape } from './broadcast.ts';
import type { OperatorFamily } from './definition.ts';
import { detach, mul } from './elementwise.ts';

/** What a value's gradient is along another value: d/dx. */
export type Slope = readonly [x: Value, slope: Value];

/**
 * The elements of a value with a gradient of their own, as torch's operators with a backward pass of their own: the gradient
 * of each x is that of the value times the slope, summed to the shape of x. It is what the slope makes of NaN and
 * infinities, where the derivatives of the steps that compute the value would be others.
 */
export function withSlopes(value: Value, ...slopes: readonly Slope[]): Value {
  return slopes.reduce<Value>(
    (sum, [x, slope]) => createValue('AddSlope', [sum, x, slope], {}, value),
    detach(value),
  );
}

export const slopes: OperatorFamily<'AddSlope'> = {
  AddSlope: {
    emit: (graph, _, [value], outputs) => {
      graph.node('Identity', [value], outputs);
    },
    gradient: ({ inputs: [, x, slope] }, [d]) => (d ? [d, sumToShape(mul(d, slope), x.shape)] : []),
  },
};
