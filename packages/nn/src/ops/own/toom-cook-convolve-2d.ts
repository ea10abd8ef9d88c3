import { createValue, type Value } from '../../graph/node.ts';
import type { ConvAttributes } from '../../graph/attributes.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { bestTile, pointsOfBothAxes, toomCook } from '../toom-cook.ts';
import {
  constantMatrices,
  gradientsOf,
  plainConvolution,
  plainWeightGradient,
  resultShapeOf,
  resultSizeOf,
  unrounded,
  type InnermostConvolution,
  type ResultSize,
} from './innermost-convolution.ts';

/**
 * A convolution by Toom-Cook's algorithm along both axes, of images with their batch innermost: [W, C, H, N] and [M, C, kH, kW] give
 * [oW, M, oH, N]. 4×4 results of 3×3 taps cost 36 products instead of 144; `toomCookConvolve`, along the width only, has 72. The
 * transforms cost more, so it pays off for many channels.
 *
 * The image may be bfloat16, and the result is then, too. Everything in between is float32, and so is the weight.
 *
 * @param weight of at most 6 taps along each axis
 * @param window of one group, with strides and dilations of 1, and less padding than taps before the image
 */
export function toomCookConvolve2d(image: Value, weight: Value, window: ConvAttributes): Value {
  const read = unrounded(weight);
  return alongBothAxes.convolve(image, read, window, resultSizeOf(image, read, window), false);
}

const alongBothAxes: InnermostConvolution = {
  convolve: (image, weight, window, size, transposed) =>
    createValue(
      'ToomCookConvolve2d',
      [image, weight, ...matrices(size, weight.shape)],
      { ...window, transposed },
      { dtype: image.dtype, shape: resultShapeOf(image, weight, size, transposed) },
    ),
  ofWeight: (image, d, { shape }, window) => {
    const [width, , height] = d.shape;
    const inputs = [image, d, ...matrices([width, height], shape)];
    return createValue('ToomCookWeightGradient2d', inputs, window, { dtype: 'float32', shape });
  },
};

/** The transforms of the height and of the width, for results of a size. */
function matrices([width, height]: ResultSize, [, , rows, columns]: readonly number[]): Value[] {
  return [...alongAxis(height, rows), ...alongAxis(width, columns)];
}

function alongAxis(results: number, taps: number): Value[] {
  const tile = Math.min(largestTileOfBothAxes(taps), bestTile(results, taps));
  const { inputTransform, outputTransform, weightTransform } = toomCook(tile, taps, pointsOfBothAxes);
  return constantMatrices([inputTransform, outputTransform, weightTransform]);
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
    plain: ({ inputs: [image, weight], outputs: [{ shape }], attributes: { transposed, ...window } }) => [
      plainConvolution(image, weight, shape, window, transposed),
    ],
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
    gradient: ({ inputs, attributes: { transposed, ...window } }, [d]) =>
      d === undefined ? [] : gradientsOf(alongBothAxes, inputs, window, transposed, d),
  },
  ToomCookWeightGradient2d: {
    plain: ({ inputs: [image, d], outputs: [{ shape }], attributes }) => [
      plainWeightGradient(image, d, shape, attributes),
    ],
    emit: (graph, { attributes: { pads } }, inputs, outputs) => {
      graph.ownNode('ToomCookWeightGradient2d', inputs, outputs, { top: pads[0], left: pads[1] });
    },
    takesBfloat16: true,
    gradient: refuseGradient,
  },
};
