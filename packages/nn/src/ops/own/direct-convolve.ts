import { createValue, type Value } from '../../graph/node.ts';
import type { ConvAttributes } from '../../graph/attributes.ts';
import { conv, convTranspose } from '../convolution.ts';
import { weightGradient } from '../convolution-weight-gradient.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import { cast, widened } from '../elementwise.ts';
import { swapOuterAxes } from '../swap-outer-axes.ts';

/**
 * A convolution of bfloat16 images with their batch innermost, as products in bfloat16 with sums in float32: [W, C, H, N] and [M, C,
 * kH, kW] give [oW, M, oH, N].
 *
 * @param weight rounded to bfloat16 while it is packed, if it is float32
 * @param window of one group
 */
export function directConvolve(image: Value, weight: Value, window: ConvAttributes): Value {
  const [width, , height] = image.shape;
  const { strides, pads, dilations } = window;
  const results = (size: number, axis: 0 | 1) =>
    Math.floor(
      (size + pads[axis] + pads[axis + 2] - (weight.shape[axis + 2] - 1) * dilations[axis] - 1) /
        strides[axis],
    ) + 1;
  return convolve(image, widened(weight), window, [results(width, 1), results(height, 0)], false);
}

/**
 * @param weight [M, C, kH, kW] of the map from [W, C, H, N] to [oW, M, oH, N] that has this window
 * @param size of the results: width and height
 * @param transposed if true, `image` is [oW, M, oH, N], and the result is [W, C, H, N]
 */
function convolve(
  image: Value,
  weight: Value,
  window: ConvAttributes,
  [width, height]: readonly [number, number],
  transposed: boolean,
): Value {
  const shape = [width, weight.shape[transposed ? 1 : 0], height, image.shape[3]];
  return createValue(
    'DirectConvolve',
    [image, weight],
    { ...window, transposed },
    { dtype: 'bfloat16', shape },
  );
}

export const directConvolutions: OperatorFamily<'DirectConvolve' | 'DirectWeightGradient'> = {
  DirectConvolve: {
    plain: ({ inputs: [image, weight], outputs: [{ shape }], attributes }) => {
      const { transposed, ...window } = attributes;
      const [width, , height] = shape;
      const nchw = widened(swapOuterAxes(image));
      const rounded = widened(cast(weight, 'bfloat16'));
      const result = transposed
        ? convTranspose(nchw, rounded, window, [height, width])
        : conv(nchw, rounded, undefined, window);
      return [cast(swapOuterAxes(result), 'bfloat16')];
    },
    emit: (graph, { attributes, outputs: [{ shape }] }, inputs, outputs) => {
      const [resultWidth, , resultHeight] = shape;
      graph.ownNode('DirectConvolve', inputs, outputs, {
        ...emittedWindow(attributes),
        transposed: Number(attributes.transposed),
        resultWidth,
        resultHeight,
      });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [image, weight], attributes }, [d]) => {
      if (d === undefined) return [];
      const { transposed, ...window } = attributes;
      const [width, , height] = image.shape;
      return [
        convolve(d, weight, window, [width, height], !transposed),
        transposed ? ofWeight(d, image, weight, window) : ofWeight(image, d, weight, window),
      ];
    },
  },
  DirectWeightGradient: {
    plain: ({ inputs: [image, d], outputs: [{ shape }], attributes }) => [
      weightGradient(widened(swapOuterAxes(image)), widened(swapOuterAxes(d)), shape, attributes),
    ],
    emit: (graph, { attributes, outputs: [{ shape }] }, inputs, outputs) => {
      const [, , rowTaps, columnTaps] = shape;
      graph.ownNode('DirectWeightGradient', inputs, outputs, {
        ...emittedWindow(attributes),
        rowTaps,
        columnTaps,
      });
    },
    takesBfloat16: true,
    gradient: noGradient,
  },
};

/** The gradient of a weight from the image that it reads and the gradient of the result. */
function ofWeight(image: Value, d: Value, { shape }: Value, window: ConvAttributes): Value {
  return createValue('DirectWeightGradient', [image, d], window, { dtype: 'float32', shape });
}

/** The addon needs no padding after the image, because it knows the size of the results. */
function emittedWindow({ strides, pads, dilations }: ConvAttributes) {
  return { strides, dilations, before: pads.slice(0, 2) };
}
