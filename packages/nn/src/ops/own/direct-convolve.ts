import { createValue, type Value } from '../../graph/node.ts';
import type { ConvAttributes } from '../../graph/attributes.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { cast, widened } from '../elementwise.ts';
import {
  gradientsOf,
  plainConvolution,
  plainWeightGradient,
  resultShapeOf,
  resultSizeOf,
  type InnermostConvolution,
} from './innermost-convolution.ts';

/**
 * A convolution of bfloat16 images with their batch innermost, as products in bfloat16 with sums in float32: [W, C, H, N] and [M, C,
 * kH, kW] give [oW, M, oH, N].
 *
 * @param weight rounded to bfloat16 while it is packed, if it is float32
 * @param window of one group
 */
export function directConvolve(image: Value, weight: Value, window: ConvAttributes): Value {
  const read = widened(weight);
  return direct.convolve(image, read, window, resultSizeOf(image, read, window), false);
}

const direct: InnermostConvolution = {
  convolve: (image, weight, window, size, transposed) =>
    createValue(
      'DirectConvolve',
      [image, weight],
      { ...window, transposed },
      { dtype: 'bfloat16', shape: resultShapeOf(image, weight, size, transposed) },
    ),
  ofWeight: (image, d, { shape }, window) =>
    createValue('DirectWeightGradient', [image, d], window, { dtype: 'float32', shape }),
};

export const directConvolutions: OperatorFamily<'DirectConvolve' | 'DirectWeightGradient'> = {
  DirectConvolve: {
    plain: ({ inputs: [image, weight], outputs: [{ shape }], attributes: { transposed, ...window } }) => [
      plainConvolution(image, widened(cast(weight, 'bfloat16')), shape, window, transposed),
    ],
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
    gradient: ({ inputs, attributes: { transposed, ...window } }, [d]) =>
      d === undefined ? [] : gradientsOf(direct, inputs, window, transposed, d),
  },
  DirectWeightGradient: {
    plain: ({ inputs: [image, d], outputs: [{ shape }], attributes }) => [
      plainWeightGradient(image, d, shape, attributes),
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
    gradient: refuseGradient,
  },
};

/** The addon needs no padding after the image, because it knows the size of the results. */
function emittedWindow({ strides, pads, dilations }: ConvAttributes) {
  return { strides, dilations, before: pads.slice(0, 2) };
}
