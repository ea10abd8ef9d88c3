import { createValue, isNode, type Value } from '../../graph/node.ts';
import type { ConvAttributes } from '../../graph/attributes.ts';
import { conv, convTranspose } from '../convolution.ts';
import { weightGradient } from '../convolution-weight-gradient.ts';
import { noGradient, type OperatorFamily } from '../definition.ts';
import { cast, widened } from '../elementwise.ts';
import { constantTensor } from '../source.ts';
import { swapOuterAxes } from '../swap-outer-axes.ts';
import { bestTile, pointsOfBothAxes, toomCook } from '../toom-cook.ts';

/**
 * A convolution by Toom-Cook's algorithm along both axes, of images with their batch innermost: [W, C, H, N] and [M, C, kH, kW] give
 * [oW, M, oH, N]. 4×4 results of 3×3 taps cost 36 products instead of 144; `toomCookConvolve`, along the width only, has 72. The
 * transforms cost more, so it pays off for many channels.
 *
 * The image may be bfloat16, and the result is then, too. Everything in between is float32, and so is the weight: one that was
 * rounded to bfloat16 is read as it was before.
 *
 * @param weight of at most 6 taps along each axis
 * @param window of one group, with strides and dilations of 1, and less padding than taps before the image
 */
export function toomCookConvolve2d(image: Value, weight: Value, window: ConvAttributes): Value {
  const [width, , height] = image.shape;
  const [, , rows, columns] = weight.shape;
  const [top, left, bottom, right] = window.pads;
  return convolve(
    image,
    beforeRounding(weight),
    window,
    [width + left + right - columns + 1, height + top + bottom - rows + 1],
    false,
  );
}

function beforeRounding(weight: Value): Value {
  const { node } = weight;
  const isRounded = isNode(node, 'Cast') && node.inputs[0].dtype === 'float32';
  return isRounded ? node.inputs[0] : widened(weight);
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
    'ToomCookConvolve2d',
    [image, weight, ...matrices(height, width, weight.shape)],
    { ...window, transposed },
    { dtype: image.dtype, shape },
  );
}

/** The transforms of the height and of the width, for results of a size. */
function matrices(height: number, width: number, [, , rows, columns]: readonly number[]): Value[] {
  return [...alongAxis(height, rows), ...alongAxis(width, columns)];
}

function alongAxis(results: number, taps: number): Value[] {
  const tile = Math.min(largestTileOfBothAxes(taps), bestTile(results, taps));
  const { inputTransform, outputTransform, weightTransform } = toomCook(tile, taps, pointsOfBothAxes);
  return [inputTransform, outputTransform, weightTransform].map((matrix) =>
    constantTensor([matrix.length, matrix[0].length], matrix.flat()),
  );
}

/**
 * Tiles of at most 4 results and 6 points: larger tiles of 3 taps save few products of images of 32×32 and none of smaller powers of
 * two, and 8 points along both axes (4 results of 5 taps) round to 2e-5. 0 if the addon has no tile.
 */
export function largestTileOfBothAxes(taps: number): number {
  return Math.max(0, Math.min(4, 7 - taps));
}

export const toomCookConvolutions2d: OperatorFamily<'ToomCookConvolve2d' | 'ToomCookWeightGradient2d'> = {
  ToomCookConvolve2d: {
    plain: ({ inputs: [image, weight], outputs: [{ shape }], attributes }) => {
      const { transposed, ...window } = attributes;
      const [width, , height] = shape;
      const nchw = widened(swapOuterAxes(image));
      const result = transposed
        ? convTranspose(nchw, weight, window, [height, width])
        : conv(nchw, weight, undefined, window);
      return [cast(swapOuterAxes(result), image.dtype)];
    },
    emit: (graph, { inputs: [, weight], attributes, outputs: [{ shape }] }, inputs, outputs) => {
      const { transposed, pads } = attributes;
      const [, , rows, columns] = weight.shape;
      const [resultWidth, , resultHeight] = shape;
      graph.ownNode('ToomCookConvolve2d', inputs, outputs, {
        top: transposed ? rows - 1 - pads[0] : pads[0],
        left: transposed ? columns - 1 - pads[1] : pads[1],
        transposed: Number(transposed),
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
  ToomCookWeightGradient2d: {
    plain: ({ inputs: [image, d], outputs: [{ shape }], attributes }) => [
      weightGradient(widened(swapOuterAxes(image)), widened(swapOuterAxes(d)), shape, attributes),
    ],
    emit: (graph, { attributes: { pads } }, inputs, outputs) => {
      graph.ownNode('ToomCookWeightGradient2d', inputs, outputs, { top: pads[0], left: pads[1] });
    },
    takesBfloat16: true,
    gradient: noGradient,
  },
};

/** The gradient of a weight from the image that it reads and the gradient of the result. */
function ofWeight(image: Value, d: Value, { shape }: Value, window: ConvAttributes): Value {
  const [width, , height] = d.shape;
  return createValue('ToomCookWeightGradient2d', [image, d, ...matrices(height, width, shape)], window, {
    dtype: 'float32',
    shape,
  });
}
