import { isNode, type Node, type Value } from '../../../graph/node.ts';
import { cast } from '../../../ops/elementwise.ts';
import { sumRows } from '../../../ops/own/sum-rows.ts';
import { reshape } from '../../../ops/shape.ts';
import { sizeOf } from '../../../value-type.ts';

/**
 * Sums of bfloat16 over all axes but the last, such as gradients of biases, read their array once. onnxruntime has no sums of
 * bfloat16, so it would write and read a copy in float32.
 */
export function sumRowsOfBfloat16(node: Node): Value | undefined {
  if (!isNode(node, 'ReduceSum')) return undefined;
  const { inputs, outputs, attributes } = node;
  const [given] = inputs;
  const x = isNode(given.node, 'Cast') && given.dtype === 'float32' ? given.node.inputs[0] : given;
  const leading = x.shape.length - 1;
  const isOfRows =
    new Set(attributes.axes).size === leading && attributes.axes.every((axis) => axis >= 0 && axis < leading);
  if (x.dtype !== 'bfloat16' || leading < 1 || !isOfRows || sizeOf(x.shape) === 0) return undefined;
  const [result] = outputs;
  return reshape(cast(sumRows(x), result.dtype), result.shape);
}
