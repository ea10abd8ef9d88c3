import { ShapeError } from '../errors.ts';
import { createNode, createValue, describeType, sizeOf, type Value } from '../graph/node.ts';
import type { PoolAttributes } from '../graph/operators.ts';
import { type OperatorFamily } from './definition.ts';
import { gatherElements, scatterElements } from './indexing.ts';
import { reshape } from './shape.ts';

/**
 * Largest element of each window, as torch.nn.functional.max_pool2d.
 *
 * @param data [N, C, H, W]
 * @returns [N, C, floor((H + pads − kH) / stride) + 1, …]
 */
export function maxPool(data: Value, attributes: PoolAttributes): Value {
  if (data.dtype !== 'float32' || data.shape.length !== 4) {
    throw new ShapeError(`MaxPool: takes float32 with 4 dimensions (NCHW), given ${describeType(data)}.`);
  }
  const { kernelShape, strides, pads } = attributes;
  const [n, channels, ...spatial] = data.shape;
  const output = spatial.map((size, axis) => {
    const room = size + pads[axis] + pads[axis + 2] - kernelShape[axis];
    if (room < 0) {
      throw new ShapeError(
        `MaxPool: a window of ${kernelShape.join('x')} is larger than the padded input ${describeType(data)}.`,
      );
    }
    return Math.floor(room / strides[axis]) + 1;
  });
  const shape = [n, channels, ...output];
  const types = [{ dtype: 'float32', shape } as const, { dtype: 'int64', shape } as const];
  return createNode('MaxPool', [data], attributes, types).outputs[0];
}

/** Whether no element lies in two windows. */
export function windowsAreDisjoint({ kernelShape, strides }: PoolAttributes): boolean {
  return strides[0] >= kernelShape[0] && strides[1] >= kernelShape[1];
}

export const pooling: OperatorFamily<'MaxPool' | 'MaxUnpool'> = {
  MaxPool: {
    emit: (graph, { attributes: { kernelShape, strides, pads } }, inputs, [maxima, positions]) => {
      // Asking for the positions costs ten times the maxima alone, so they are named only where they are read.
      const outputs = positions ? [maxima || graph.freshName('unread'), positions] : [maxima];
      graph.node('MaxPool', inputs, outputs, { kernel_shape: kernelShape, strides, pads });
    },
    gradient: ({ inputs: [x], outputs: [, positions], attributes }, [d]) => {
      if (d === undefined) return [];
      const { shape } = x;
      if (windowsAreDisjoint(attributes)) {
        return [createValue('MaxUnpool', [d, positions], { shape }, { dtype: 'float32', shape })];
      }
      const size = sizeOf(shape);
      return [reshape(scatterElements(flat(positions), flat(d), size), shape)];
    },
  },
  MaxUnpool: {
    emit: (graph, { attributes: { shape } }, inputs, outputs) => {
      // With the output's shape given, ONNX asks for a kernel shape and does not use it.
      const outputShape = graph.constant('int64', [shape.length], shape);
      graph.node('MaxUnpool', [...inputs, outputShape], outputs, { kernel_shape: [1, 1] });
    },
    gradient: ({ inputs: [values, positions] }, [d]) => [
      d && reshape(gatherElements(flat(d), flat(positions)), values.shape),
    ],
  },
};

function flat(value: Value): Value {
  return reshape(value, [sizeOf(value.shape)]);
}
