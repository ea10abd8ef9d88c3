import { createValue, type Value } from '../graph/node.ts';
import { sumToShape } from './broadcast.ts';
import type { OperatorFamily } from './definition.ts';
import { detach, mul } from './elementwise.ts';

/** The slope of a value along another value: d/dx. */
export type Slope = readonly [x: Value, slope: Value];

/**
 * A value with a custom gradient, like torch's operators with their own backward pass: the gradient
 * of each x is the value's gradient times the slope, summed to the shape of x. NaN and infinities follow the slope,
 * not the derivatives of the steps that compute the value.
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
