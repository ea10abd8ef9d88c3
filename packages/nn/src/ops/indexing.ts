import { ShapeError } from '../errors.ts';
import { createValue, describeType, sizeOf, type Value } from '../graph/node.ts';
import { emitPlain, noGradient, type OperatorFamily } from './definition.ts';

/** The elements of `data` [n] at `positions` [m]; gives [m]. */
export function gatherElements(data: Value, positions: Value): Value {
  return createValue('GatherElements', [data, positions], {}, { dtype: data.dtype, shape: positions.shape });
}

/** Zeros [size], with `updates` [m] added at `positions` [m]. */
export function scatterElements(positions: Value, updates: Value, size: number): Value {
  return createValue('ScatterElements', [positions, updates], { size }, { dtype: 'float32', shape: [size] });
}

/** `value` at the class of each row and 0 elsewhere: classes [N] (int64) give [N, depth]. */
export function oneHot(classes: Value, depth: number, value: number): Value {
  if (classes.dtype !== 'int64' || classes.shape.length !== 1) {
    throw new ShapeError(`OneHot: takes int64 classes with 1 dimension, given ${describeType(classes)}.`);
  }
  const shape = [...classes.shape, depth];
  return createValue('OneHot', [classes], { depth, value }, { dtype: 'float32', shape });
}

export const indexing: OperatorFamily<'GatherElements' | 'ScatterElements' | 'OneHot'> = {
  GatherElements: {
    emit: emitPlain,
    gradient: ({ inputs: [data, positions] }, [d]) => [
      d && scatterElements(positions, d, sizeOf(data.shape)),
    ],
  },
  ScatterElements: {
    emit: (graph, { attributes: { size } }, [positions, updates], outputs) => {
      const zeros = graph.freshName('zeros');
      graph.node(
        'Expand',
        [graph.constant('float32', [1], [0]), graph.constant('int64', [1], [size])],
        [zeros],
      );
      graph.node('ScatterElements', [zeros, positions, updates], outputs, { axis: 0, reduction: 'add' });
    },
    gradient: ({ inputs: [positions] }, [d]) => [undefined, d && gatherElements(d, positions)],
  },
  OneHot: {
    emit: (graph, { attributes: { depth, value } }, inputs, outputs) => {
      const depthInput = graph.constant('int64', [1], [depth]);
      graph.node('OneHot', [...inputs, depthInput, graph.constant('float32', [2], [0, value])], outputs);
    },
    gradient: noGradient,
  },
};
