import { createNode, type Node, type Value } from '../graph/node.ts';
import type { OperatorFamily } from './definition.ts';
import { mul, sub, widened } from './elementwise.ts';
import { reduceSum } from './reduction.ts';
import { reshape } from './shape.ts';

/**
 * The sums that the gradient of batch normalization needs, as one operator, for a device that has it.
 *
 * @param d [rows, C]
 * @param x [rows, C]
 * @param mean [C]
 */
export function batchNormalizeSums(d: Value, x: Value, mean: Value): Node<'BatchNormalizeSums'> {
  return createNode('BatchNormalizeSums', [d, x, mean], {}, [mean, mean]);
}

export const batchNormalizeSumsOperators: OperatorFamily<'BatchNormalizeSums'> = {
  BatchNormalizeSums: {
    plain: ({ inputs: [d, x, mean] }) => [
      reduceSum(widened(d), [0]),
      reduceSum(mul(widened(d), sub(widened(x), reshape(mean, [1, mean.shape[0]]))), [0]),
    ],
    emit: () => {
      throw new Error('BatchNormalizeSums has no ONNX form. Replace it by its plain operators.');
    },
    gradient: 'ofPlain',
  },
};
