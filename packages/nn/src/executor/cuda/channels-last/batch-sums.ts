import { rewrite } from '../../../compiler/rewrite.ts';
import { isNode, type Node, type Value } from '../../../graph/node.ts';
import { isSameSequence } from '../../../graph/same-data.ts';
import { topologicalOrder } from '../../../graph/topology.ts';
import { batchNormalizeSums } from '../../../ops/batch-normalize-sums.ts';
import { reshape } from '../../../ops/shape.ts';
import { sizeOf } from '../../../value-type.ts';
import { unwidened, viewedValue } from '../views.ts';

/** d·(x − mean), where d and x are [N, H, W, C]. */
interface Product {
  readonly d: Value;
  readonly x: Value;
  /** [C] */
  readonly mean: Value;
}

/** Replaces the sums of d and of d·(x − mean) over all axes but the channels, of the gradient of batch normalization, by one operator. */
export function withBatchSums(outputs: readonly Value[]): readonly Value[] {
  const byValue = new Map<Value, Product>();
  const byGradient = new Map<Value, Product>();
  for (const node of topologicalOrder(outputs)) {
    const product = isSumOfRows(node) ? productOf(node.inputs[0]) : undefined;
    if (product === undefined) continue;
    byValue.set(node.inputs[0], product);
    if (!byGradient.has(product.d)) byGradient.set(product.d, product);
  }
  const made = new Map<Product, Node>();
  const rebuilt = new Map<Value, Value>();
  return rewrite(outputs, [
    (node, original) => {
      for (const [index, output] of original.outputs.entries()) rebuilt.set(output, node.outputs[index]);
      if (!isSumOfRows(original)) return undefined;
      const [value] = original.inputs;
      const product = byValue.get(value) ?? byGradient.get(value);
      if (product === undefined) return undefined;
      const [d, x, mean] = [product.d, product.x, product.mean].map((operand) => rebuilt.get(operand));
      // A sum of d may come before x.
      if (d === undefined || x === undefined || mean === undefined) return undefined;
      const channels = x.shape[x.shape.length - 1];
      const rows = [sizeOf(x.shape) / channels, channels];
      const sums = made.get(product) ?? batchNormalizeSums(reshape(d, rows), reshape(x, rows), mean);
      made.set(product, sums);
      return reshape(sums.outputs[byValue.has(value) ? 1 : 0], original.outputs[0].shape);
    },
  ]);
}

function isSumOfRows(node: Node): boolean {
  if (!isNode(node, 'ReduceSum')) return false;
  const [x] = node.inputs;
  return x.shape.length === 4 && x.dtype === 'float32' && isSameSequence(node.attributes.axes, [0, 1, 2]);
}

function productOf({ node, shape }: Value): Product | undefined {
  if (!isNode(node, 'Mul')) return undefined;
  for (const [d, distance] of [node.inputs, node.inputs.toReversed()]) {
    if (!isNode(distance.node, 'Sub')) continue;
    const [x, mean] = distance.node.inputs;
    const isWhole = [d, distance, x].every((factor) => isSameSequence(factor.shape, shape));
    const isOfChannels = sizeOf(mean.shape) === shape[3] && mean.shape[mean.shape.length - 1] === shape[3];
    // Without the casts and views that only this product reads, so that a sum of d before it finds its operands.
    if (isWhole && isOfChannels) return { d, x: unwidened(x), mean: viewedValue(mean) };
  }
  return undefined;
}
