import { createValue, type Value } from '../../graph/node.ts';
import { sizeOf } from '../../value-type.ts';
import type { OperatorFamily } from '../definition.ts';
import { scatterElements } from '../indexing.ts';
import { reshape } from '../shape.ts';

/**
 * The gradient of a max-pool whose windows may overlap.
 *
 * @param d gradient of the maxima [N, C, h, w]
 * @param positions of the maxima among all elements of the images
 * @param shape of the images [N, C, H, W], or with one or three axes
 */
export function maxPoolGradient(d: Value, positions: Value, shape: readonly number[]): Value {
  const [images, places] = [d, positions].map((value) => reshape(value, asImages(value.shape)));
  const type = { dtype: d.dtype, shape: asImages(shape) };
  return reshape(createValue('MaxPoolGradient', [images, places], {}, type), shape);
}

/** Images of one or three axes as images of two with the same elements. */
function asImages(shape: readonly number[]): number[] {
  return [...shape.slice(0, 2), sizeOf(shape.slice(2, -1)), shape[shape.length - 1]];
}

export const maxPoolGradients: OperatorFamily<'MaxPoolGradient'> = {
  MaxPoolGradient: {
    plain: ({ inputs: [d, positions], outputs: [{ shape }] }) => {
      const flat = (value: Value) => reshape(value, [sizeOf(value.shape)]);
      return [reshape(scatterElements(flat(positions), flat(d), sizeOf(shape)), shape)];
    },
    emit: (graph, { outputs: [{ shape }] }, inputs, outputs) => {
      const [, , height, width] = shape;
      graph.ownNode('MaxPoolGradient', inputs, outputs, { height, width });
    },
    takesBfloat16: true,
    gradient: 'ofPlain',
  },
};
