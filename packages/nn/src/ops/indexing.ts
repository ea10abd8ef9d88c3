import { ShapeError } from '../errors/errors.ts';
import { createValue, type Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { noGradient, type OperatorFamily } from './definition.ts';
import { expand } from './shape.ts';
import { constant, int64Constant } from './source.ts';

/**
 * Selects the elements of `data` at `positions` along an axis (torch.gather). The result has the shape of `positions`:
 * [n] and [m] give [m]; [N, C] and [N, 1] along axis 1 give one element of each row.
 */
export function gatherElements(data: Value, positions: Value, axis = 0): Value {
  const type = { dtype: data.dtype, shape: positions.shape };
  return createValue('GatherElements', [data, positions], { axis }, type);
}

/**
 * Adds `updates` to zeros at `positions` along an axis (torch.scatter_add). `updates` and `positions` have one shape; the
 * result has `size` elements along the axis.
 */
export function scatterElements(positions: Value, updates: Value, size: number, axis = 0): Value {
  const type = { dtype: updates.dtype, shape: updates.shape.with(axis, size) };
  return createValue('ScatterElements', [positions, updates], { axis, size }, type);
}

/** `data` with `updates` written at `positions` along an axis (torch.scatter). Positions along one line must differ. */
export function scatter(data: Value, positions: Value, updates: Value, axis: number): Value {
  return createValue('Scatter', [data, positions, updates], { axis }, data);
}

/** Selects slices at `positions` along an axis (torch.index_select). The result has `positions.length` slices. */
export function indexSelect(value: Value, axis: number, positions: readonly number[]): Value {
  const type = { dtype: value.dtype, shape: value.shape.with(axis, positions.length) };
  return createValue('IndexSelect', [value], { axis, positions }, type);
}

/** Writes `value` at the class of each row and 0 elsewhere: classes [N] (int64) give [N, depth]. Class `depth` gives zeros. */
export function oneHot(classes: Value, depth: number, value: number): Value {
  if (classes.dtype !== 'int64' || classes.shape.length !== 1) {
    throw new ShapeError(`oneHot: expected int64 classes with 1 dimension, got ${describeType(classes)}.`);
  }
  const shape = [...classes.shape, depth];
  return createValue('OneHot', [classes], { depth, value }, { dtype: 'float32', shape });
}

type Indexing = 'IndexSelect' | 'GatherElements' | 'ScatterElements' | 'Scatter' | 'OneHot';

export const indexing: OperatorFamily<Indexing> = {
  IndexSelect: {
    emit: (graph, { attributes: { axis, positions } }, inputs, outputs) => {
      graph.node('Gather', [...inputs, graph.constant('int64', [positions.length], positions)], outputs, {
        axis,
      });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x], attributes: { axis, positions } }, [d]) => {
      if (d === undefined) return [];
      const broadcastable = d.shape.map((_, other) => (other === axis ? positions.length : 1));
      const targets = int64Constant(broadcastable, positions);
      return [scatterElements(expand(targets, d.shape), d, x.shape[axis], axis)];
    },
  },
  GatherElements: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      graph.node('GatherElements', inputs, outputs, { axis });
    },
    takesBfloat16: true,
    gradient: ({ inputs: [data, positions], attributes: { axis } }, [d]) => [
      d && scatterElements(positions, d, data.shape[axis], axis),
    ],
  },
  ScatterElements: {
    // onnxruntime adds the updates in order on one thread, so equal inputs give equal bits.
    emit: (graph, { outputs: [{ dtype, shape }], attributes: { axis } }, [positions, updates], outputs) => {
      const zeros = graph.freshName('zeros');
      graph.node(
        'Expand',
        [graph.constant(dtype, [1], [0]), graph.constant('int64', [shape.length], shape)],
        [zeros],
      );
      graph.node('ScatterElements', [zeros, positions, updates], outputs, { axis, reduction: 'add' });
    },
    gradient: ({ inputs: [positions], attributes: { axis } }, [d]) => [
      undefined,
      d && gatherElements(d, positions, axis),
    ],
  },
  Scatter: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      graph.node('ScatterElements', inputs, outputs, { axis });
    },
    gradient: ({ inputs: [, positions], attributes: { axis } }, [d]) => {
      if (d === undefined) return [];
      const none = expand(constant(0), positions.shape);
      return [scatter(d, positions, none, axis), undefined, gatherElements(d, positions, axis)];
    },
  },
  OneHot: {
    emit: (graph, { attributes: { depth, value } }, inputs, outputs) => {
      const depthInput = graph.constant('int64', [1], [depth]);
      graph.node('OneHot', [...inputs, depthInput, graph.constant('float32', [2], [0, value])], outputs);
    },
    gradient: noGradient,
  },
};
