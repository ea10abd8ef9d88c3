import { createValue, type Value } from '../../graph/node.ts';
import type { OperatorFamily } from '../definition.ts';
import { cast, equal, where } from '../elementwise.ts';
import { reduceMin } from '../reduction.ts';
import { gradientOfSoftmax, softmax } from '../softmax.ts';
import { constant } from '../source.ts';

/** exp x / Σ exp x over the last axis; 0, with gradient 0, for a row that is all −∞. @param x float32 [..., n] */
export function safeSoftmax(x: Value): Value {
  return createValue('SafeSoftmax', [x], {}, x);
}

/** The same by operators of ONNX. */
export function plainSafeSoftmax(x: Value): Value {
  if (x.shape.at(-1) === 0) return x;
  const isBlocked = cast(equal(x, constant(-Infinity)), 'float32');
  const isRowBlocked = equal(reduceMin(isBlocked, [-1], true), constant(1));
  // Zeros instead of −∞, because a NaN softmax would have a NaN gradient.
  const finite = softmax(where(isRowBlocked, constant(0), x), -1);
  return where(isRowBlocked, constant(0), finite);
}

export const safeSoftmaxes: OperatorFamily<'SafeSoftmax'> = {
  SafeSoftmax: {
    plain: ({ inputs: [x] }) => [plainSafeSoftmax(x)],
    emit: (graph, _, inputs, outputs) => {
      graph.ownNode('SafeSoftmax', inputs, outputs);
    },
    takesBfloat16: true,
    gradient: ({ inputs: [x], outputs: [y] }, [d]) => [d && gradientOfSoftmax(y, d, x.shape.length - 1)],
  },
};
