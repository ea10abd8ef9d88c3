import { isNode, type Node, type Value } from '../../../../graph/node.ts';
import type { PoolAttributes } from '../../../../graph/attributes.ts';
import { isSameData } from '../../../../graph/same-data.ts';
import { maxPlaces, maxPoolActivate } from '../../../../ops/own/max-pool-activate.ts';
import { reshape } from '../../../../ops/shape.ts';
import { isBatchInnermost, toBatchInnermost, toNchw } from './layout.ts';

/** The bias of a convolution commutes with the maximum, which leaves a fraction of the elements. */
export function maxPool(node: Node): Value | undefined {
  if (!isNode(node, 'MaxPool')) return undefined;
  const image = node.inputs[0];
  if (!isBatchInnermost(image) || !windowsTile(image, node.attributes)) return undefined;
  const { x, bias } = withoutBias(toBatchInnermost(image));
  const { kernelShape } = node.attributes;
  return toNchw(maxPoolActivate(x, bias, { kernelShape, activates: false }));
}

/** The relu after a max-pool. */
export function reluOfMaxPool(node: Node): Value | undefined {
  if (!isNode(node, 'Relu') || !isBatchInnermost(node.inputs[0])) return undefined;
  const pool = toBatchInnermost(node.inputs[0]).node;
  if (!isNode(pool, 'MaxPoolActivate') || pool.attributes.activates) return undefined;
  const [x, bias] = pool.inputs;
  return toNchw(maxPoolActivate(x, bias, { ...pool.attributes, activates: true }));
}

/** True if the windows tile an NCHW image: no overlap, no padding, no remainder. */
function windowsTile(
  { shape }: Value,
  { kernelShape, strides, pads, dilations = [] }: PoolAttributes,
): boolean {
  const [rows, columns] = kernelShape;
  if (shape.length !== 4 || rows * columns > maxPlaces) return false;
  const seamless =
    strides[0] === rows &&
    strides[1] === columns &&
    pads.every((pad) => pad === 0) &&
    dilations.every((dilation) => dilation === 1);
  return seamless && shape[2] % rows === 0 && shape[3] % columns === 0;
}

/** An image without the bias of its channels, [C]; undefined if it has none. */
function withoutBias(image: Value): { x: Value; bias: Value | undefined } {
  const { node, shape } = image;
  if (!isNode(node, 'Add')) return { x: image, bias: undefined };
  const [x, bias] = node.inputs as [Value, Value];
  const isBiased = isSameData(x.shape, shape) && isSameData(bias.shape, [1, shape[1], 1, 1]);
  return isBiased ? { x, bias: reshape(bias, [shape[1]]) } : { x: image, bias: undefined };
}
