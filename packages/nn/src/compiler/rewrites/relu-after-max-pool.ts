import { isNode } from '../../graph/node.ts';
import { relu } from '../../ops/elementwise.ts';
import { maxPool } from '../../ops/pooling.ts';
import type { Rewrite } from '../rewrite.ts';

/**
 * max_pool(relu(x)) = relu(max_pool(x)), because relu is monotonic; and behind the pool there is a fraction of the data left for
 * relu and for the mask of its gradient. The gradients agree too: where the window's maximum is not positive both are 0, else both
 * go to the same element. (A window whose maximum is exactly 0, or that holds negative values only, gets 0 either way.)
 */
export const reluAfterMaxPool: Rewrite = (node) => {
  if (!isNode(node, 'MaxPool')) return undefined;
  const input = node.inputs[0].node;
  if (!isNode(input, 'Relu') || node.attributes.pads.some((pad) => pad > 0)) return undefined;
  return relu(maxPool(input.inputs[0], node.attributes));
};
