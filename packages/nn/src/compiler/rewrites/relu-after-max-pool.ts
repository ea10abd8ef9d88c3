import { isNode } from '../../graph/node.ts';
import { relu } from '../../ops/elementwise.ts';
import { maxPool } from '../../ops/pooling.ts';
import type { Rewrite } from '../rewrite.ts';

/**
 * max_pool(relu(x)) = relu(max_pool(x)), because relu is monotonic; after the pool, relu and the mask of its gradient have
 * a fraction of the data. Gradients agree: both are 0 if the window's maximum is not positive, else both go to the same
 * element.
 */
export const reluAfterMaxPool: Rewrite = (node) => {
  if (!isNode(node, 'MaxPool')) return undefined;
  const input = node.inputs[0].node;
  if (!isNode(input, 'Relu') || node.attributes.pads.some((pad) => pad > 0)) return undefined;
  return relu(maxPool(input.inputs[0], node.attributes));
};
