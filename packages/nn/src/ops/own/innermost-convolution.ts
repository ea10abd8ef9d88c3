import type { Value } from '../../graph/node.ts';
import type { ConvAttributes } from '../../graph/attributes.ts';
import { conv, convTranspose } from '../convolution.ts';
import { weightGradient } from '../convolution-weight-gradient.ts';
import type { MaybeValue } from '../definition.ts';
import { beforeRounding, cast, widened } from '../elementwise.ts';
import { constantTensor } from '../source.ts';
import { swapOuterAxes } from '../swap-outer-axes.ts';

// What the addon's convolutions of images with their batch innermost share: [W, C, H, N] and [M, C, kH, kW] give [oW, M, oH, N].

/** Width and height of the results. */
export type ResultSize = readonly [width: number, height: number];

export function resultSizeOf(image: Value, weight: Value, window: ConvAttributes): ResultSize {
  const [width, , height] = image.shape;
  const { strides, pads, dilations } = window;
  const along = (size: number, axis: 0 | 1) => {
    const reach = (weight.shape[axis + 2] - 1) * dilations[axis];
    return Math.floor((size + pads[axis] + pads[axis + 2] - reach - 1) / strides[axis]) + 1;
  };
  return [along(width, 1), along(height, 0)];
}

/**
 * The shape of the results.
 *
 * @param weight [M, C, kH, kW] of the map from [W, C, H, N] to [oW, M, oH, N]
 * @param transposed if true, `image` is [oW, M, oH, N], and the result is [W, C, H, N]
 */
export function resultShapeOf(
  image: Value,
  weight: Value,
  [width, height]: ResultSize,
  transposed: boolean,
): readonly number[] {
  return [width, weight.shape[transposed ? 1 : 0], height, image.shape[3]];
}

/** A weight in float32: one that was rounded to bfloat16 is read as it was before. */
export function unrounded(weight: Value): Value {
  return widened(beforeRounding(weight));
}

/** The convolution, or its transpose, by other operators. They compute in float32. */
export function plainConvolution(
  image: Value,
  weight: Value,
  [width, , height]: readonly number[],
  window: ConvAttributes,
  transposed: boolean,
): Value {
  const nchw = widened(swapOuterAxes(image));
  const result = transposed
    ? convTranspose(nchw, weight, window, [height, width])
    : conv(nchw, weight, undefined, window);
  return cast(swapOuterAxes(result), image.dtype);
}

/** The gradient of a weight by other operators. */
export function plainWeightGradient(
  image: Value,
  d: Value,
  shape: readonly number[],
  window: ConvAttributes,
): Value {
  return weightGradient(widened(swapOuterAxes(image)), widened(swapOuterAxes(d)), shape, window);
}

/** The functions that create the nodes of a convolution. */
export interface InnermostConvolution {
  /** @param size of the results. With a stride, several sizes have one transpose. */
  readonly convolve: (
    image: Value,
    weight: Value,
    window: ConvAttributes,
    size: ResultSize,
    transposed: boolean,
  ) => Value;
  /** The gradient of a weight from the image that it reads and the gradient of the result. */
  readonly ofWeight: (image: Value, d: Value, weight: Value, window: ConvAttributes) => Value;
}

/** The gradients of image and weight. */
export function gradientsOf(
  { convolve, ofWeight }: InnermostConvolution,
  [image, weight]: readonly Value[],
  window: ConvAttributes,
  transposed: boolean,
  d: Value,
): readonly MaybeValue[] {
  const [width, , height] = image.shape;
  return [
    convolve(d, weight, window, [width, height], !transposed),
    transposed ? ofWeight(d, image, weight, window) : ofWeight(image, d, weight, window),
  ];
}

/** Constants of an operator. */
export function constantMatrices(matrices: readonly (readonly (readonly number[])[])[]): Value[] {
  return matrices.map((matrix) => constantTensor([matrix.length, matrix[0].length], matrix.flat()));
}
