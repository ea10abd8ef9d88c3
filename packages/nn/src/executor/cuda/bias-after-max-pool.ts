import { Readers } from '../../compiler/readers.ts';
import type { Rewrite } from '../../compiler/rewrite.ts';
import { isNode, type Value } from '../../graph/node.ts';
import { topologicalOrder } from '../../graph/topology.ts';
import { alongChannels } from '../../ops/batch-normalization.ts';
import { conv } from '../../ops/convolution.ts';
import { add } from '../../ops/elementwise.ts';
import { maxPool } from '../../ops/pooling.ts';

/**
 * max_pool(convolution + bias) = max_pool(convolution) + bias, with the same bits, because rounding is monotonic. After the pool, the
 * bias is added to a fraction of the elements in the kernel of the next elementwise operators, and its gradient sums a fraction.
 *
 * @param outputs of the graph that is rewritten
 */
export function biasAfterMaxPool(outputs: readonly Value[]): Rewrite {
  const readers = new Readers(topologicalOrder(outputs), outputs);
  return (node, original) => {
    if (!isNode(node, 'MaxPool') || node.attributes.pads.some((pad) => pad > 0)) return undefined;
    const { node: convolution } = node.inputs[0];
    if (!isNode(convolution, 'Conv') || readers.only(original.inputs[0]) !== original) return undefined;
    const [x, weight, bias] = convolution.inputs as readonly [Value, Value, Value?];
    if (bias === undefined) return undefined;
    const pooled = maxPool(conv(x, weight, undefined, convolution.attributes), node.attributes);
    return add(pooled, alongChannels(bias, pooled));
  };
}
