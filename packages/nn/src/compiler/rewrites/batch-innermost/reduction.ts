import { createValue, isNode, type Node, type Value } from '../../../graph/node.ts';
import { reshape } from '../../../ops/shape.ts';
import { swapped, swappedAxis, isBatchInnermost, toBatchInnermost, toNchw } from './layout.ts';

/** Reduces before transposing, so that only the small result is transposed. */
export function reduction(node: Node): Value | undefined {
  const isReduction = isNode(node, 'ReduceSum') || isNode(node, 'ReduceMean') || isNode(node, 'ReduceMax');
  if (!isReduction || !isBatchInnermost(node.inputs[0])) return undefined;
  const [image] = node.inputs;
  const { axes } = node.attributes;
  const kept = image.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const attributes = { axes: axes.map(swappedAxis), keepdims: true };
  const type = { dtype: image.dtype, shape: swapped(kept) };
  const reduced = createValue(node.op, [toBatchInnermost(image)], attributes, type);
  return reshape(toNchw(reduced), node.outputs[0].shape);
}
