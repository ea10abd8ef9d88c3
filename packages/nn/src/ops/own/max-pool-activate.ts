import { createNode, type Value } from '../../graph/node.ts';
import type { MaxPoolActivateAttributes } from '../../graph/attributes.ts';
import { refuseGradient, type OperatorFamily } from '../definition.ts';
import { add, max, relu, widened } from '../elementwise.ts';
import { reshape, split } from '../shape.ts';
import { everyNth } from '../unfold.ts';

/** Elements of a window of {@link maxPoolActivate} (kMaxPlaces in native/src/operators/max_pool.h). */
export const maxPlaces = 255;

/**
 * relu(max-pool(x) + bias) of images with the batch innermost, in which bias and relu are optional. Each image is read once,
 * and its gradient is written once, from one byte for each window.
 *
 * @param x [W, C, H, N], which the windows tile
 * @param bias [C]
 * @param attributes with the rows and columns of a window, at most `maxPlaces` elements
 */
export function maxPoolActivate(
  x: Value,
  bias: Value | undefined,
  { kernelShape, activates }: Omit<MaxPoolActivateAttributes, 'hasBias'>,
): Value {
  const [width, channels, height, n] = x.shape;
  const [rows, columns] = kernelShape;
  const result = [width / columns, channels, height / rows];
  return createNode(
    'MaxPoolActivate',
    [x, ...(bias ? [widened(bias)] : [])],
    { kernelShape, hasBias: bias !== undefined, activates },
    [
      { dtype: x.dtype, shape: [...result, n] },
      // Rows of whole vectors of 16 bytes (placesOfRow in native/src/operators/max_pool.h).
      { dtype: 'int64', shape: [...result, 2 * Math.ceil(n / 16)] },
    ],
  ).outputs[0];
}

export const maxPoolActivations: OperatorFamily<'MaxPoolActivate' | 'MaxPoolActivateGradient'> = {
  MaxPoolActivate: {
    plain: ({ inputs: [x, bias], attributes: { kernelShape, hasBias, activates } }) => {
      const maxima = maxPool(x, kernelShape);
      const sum = hasBias ? add(maxima, reshape(bias, [1, -1, 1, 1])) : maxima;
      return [activates ? relu(sum) : sum];
    },
    emit: (graph, { attributes: { kernelShape, activates } }, inputs, outputs) => {
      const [rows, columns] = kernelShape;
      graph.ownNode('MaxPoolActivate', inputs, outputs, { rows, columns, activates: Number(activates) });
    },
    omits: [0, 1],
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs, outputs: [, places], attributes }, [d]) =>
      d === undefined ? [] : createNode('MaxPoolActivateGradient', [d, places], attributes, inputs).outputs,
  },
  MaxPoolActivateGradient: {
    emit: (graph, { attributes: { kernelShape } }, inputs, outputs) => {
      const [rows, columns] = kernelShape;
      graph.ownNode('MaxPoolActivateGradient', inputs, outputs, { rows, columns });
    },
    omits: [0, 1],
    takesBfloat16: true,
    gradient: refuseGradient,
  },
};

/** Max-pooling as elementwise maxima: first over the columns of each window, then over its rows. */
function maxPool(image: Value, [rows, columns]: readonly number[]): Value {
  const [width, channels, height, n] = image.shape;
  const wide = width / columns;
  const high = height / rows;
  const ofColumns = maximum(everyNth(image, 0, columns));
  const ofRows = maximum(split(reshape(ofColumns, [wide * channels * high, rows, n]), 1, rows));
  return reshape(ofRows, [wide, channels, high, n]);
}

/**
 * The first of equal elements wins at every step, first along columns and then along rows, so ties go to the first element
 * in row-major order, as in torch.
 */
function maximum(values: readonly Value[]): Value {
  return values.map((value) => reshape(value, [-1])).reduce((largest, value) => max(largest, value));
}
