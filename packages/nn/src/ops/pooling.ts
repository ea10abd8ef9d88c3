import { ShapeError } from '../errors.ts';
import { createNode, createValue, describeType, sizeOf, type Node, type Value } from '../graph/node.ts';
import type { Operators, PoolAttributes } from '../graph/operators.ts';
import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { convTranspose } from './convolution.ts';
import { noGradient, type OperatorFamily } from './definition.ts';
import { div } from './elementwise.ts';
import { gatherElements } from './indexing.ts';
import { matmul } from './linear-algebra.ts';
import { maxPoolGradient } from './own/max-pool-gradient.ts';
import { reduceMean } from './reduction.ts';
import { expand, reshape, transpose } from './shape.ts';
import { constant, constantTensor } from './source.ts';

/**
 * Largest element of each window, as torch.nn.functional.max_pool2d.
 *
 * @param data [N, C, H, W]
 * @returns [N, C, floor((H + pads − kH) / stride) + 1, …]
 */
export function maxPool(data: Value, attributes: PoolAttributes): Value {
  const shape = pooledShape('MaxPool', data, attributes);
  const types = [{ dtype: 'float32', shape } as const, { dtype: 'int64', shape } as const];
  return createNode('MaxPool', [data], attributes, types).outputs[0];
}

/** Mean of each window, as torch.nn.functional.avg_pool2d; shapes as in `maxPool`. */
export function averagePool(data: Value, attributes: Operators['AveragePool']): Value {
  const shape = pooledShape('AveragePool', data, attributes);
  return createValue('AveragePool', [data], attributes, { dtype: 'float32', shape });
}

/**
 * Averages an image of any size to a fixed size, as torch.nn.functional.adaptive_avg_pool2d: window i of h covers rows
 * ⌊i·H/h⌋ to ⌈(i + 1)·H/h⌉ of H.
 *
 * @param data [N, C, H, W]
 * @returns [N, C, ...size]
 */
export function adaptiveAveragePool(data: Value, size: readonly [height: number, width: number]): Value {
  requireImages('AdaptiveAveragePool', data);
  const [height, width] = data.shape.slice(2);
  if (size[0] === 1 && size[1] === 1) return reduceMean(data, [2, 3], true);
  if (height % size[0] === 0 && width % size[1] === 0) {
    const window = [height / size[0], width / size[1]] as const;
    const attributes = { kernelShape: window, strides: window, pads: [0, 0, 0, 0] } as const;
    return averagePool(data, { ...attributes, countIncludePad: true });
  }
  // Along each axis, pooling is a linear map whose matrix has one row of equal weights per window.
  const rows = windowMeans(height, size[0]);
  const columns = transpose(windowMeans(width, size[1]), [1, 0]);
  return matmul(rows, matmul(data, columns));
}

/** [windows, length] */
function windowMeans(length: number, windows: number): Value {
  const weights = Array.from({ length: windows }, (_, window) => {
    const start = Math.floor((window * length) / windows);
    const end = Math.ceil(((window + 1) * length) / windows);
    return Array.from({ length }, (_, index) => (index >= start && index < end ? 1 / (end - start) : 0));
  });
  return constantTensor([windows, length], weights.flat());
}

/** True if windows do not overlap. */
export function windowsAreDisjoint({ kernelShape, strides }: PoolAttributes): boolean {
  return strides[0] >= kernelShape[0] && strides[1] >= kernelShape[1];
}

export const pooling: OperatorFamily<'MaxPool' | 'ExactMaxPool' | 'AveragePool' | 'MaxUnpool'> = {
  MaxPool: {
    emit: emitMaxPool,
    gradient: ({ inputs: [x], outputs: [, positions], attributes }, [d]) => {
      if (d === undefined) return [];
      const { shape } = x;
      if (windowsAreDisjoint(attributes)) {
        return [createValue('MaxUnpool', [d, positions], { shape }, { dtype: 'float32', shape })];
      }
      return [maxPoolGradient(d, positions, shape)];
    },
  },
  ExactMaxPool: { emit: emitExactMaxPool, gradient: noGradient },
  AveragePool: {
    emit: (graph, { attributes: { kernelShape, strides, pads, countIncludePad } }, inputs, outputs) => {
      const count_include_pad = Number(countIncludePad);
      graph.node('AveragePool', inputs, outputs, {
        kernel_shape: kernelShape,
        strides,
        pads,
        count_include_pad,
      });
    },
    // A convolution of each channel with a kernel of ones, divided by the elements of each window; hence its transpose.
    gradient: ({ inputs: [x], attributes }, [d]) => {
      if (d === undefined) return [];
      const { kernelShape, strides, pads } = attributes;
      const [n, channels, height, width] = x.shape;
      const channelwise = reshape(div(d, elementsOfWindows(x, attributes)), [
        n * channels,
        1,
        ...d.shape.slice(2),
      ]);
      const ones = expand(constant(1), [1, 1, ...kernelShape]);
      const window = { strides, pads, dilations: [1, 1], group: 1 } as const;
      return [reshape(convTranspose(channelwise, ones, window, [height, width]), x.shape)];
    },
  },
  MaxUnpool: {
    emit: (graph, { attributes: { shape } }, inputs, outputs) => {
      // ONNX requires a kernel shape, but does not use it if the output's shape is passed.
      const outputShape = graph.constant('int64', [shape.length], shape);
      graph.node('MaxUnpool', [...inputs, outputShape], outputs, { kernel_shape: [1, 1] });
    },
    gradient: ({ inputs: [values, positions] }, [d]) => [
      d && reshape(gatherElements(flat(d), flat(positions)), values.shape),
    ],
  },
};

function emitMaxPool(
  graph: GraphBuilder,
  { attributes: { kernelShape, strides, pads } }: Pick<Node<'MaxPool'>, 'attributes'>,
  inputs: readonly string[],
  [maxima, positions]: readonly string[],
): void {
  // Positions cost ten times as much as the maxima alone, so they are requested only if they are read.
  const outputs = positions ? [maxima || graph.freshName('unread'), positions] : [maxima];
  graph.node('MaxPool', inputs, outputs, { kernel_shape: kernelShape, strides, pads });
}

/**
 * onnxruntime's MaxPool, or, if the sum of the input is not finite, the maxima one by one. The sum costs 1/20 of a MaxPool
 * with positions. Both branches are correct for finite numbers, so an overflowing sum only costs time.
 */
function emitExactMaxPool(
  graph: GraphBuilder,
  node: Node<'ExactMaxPool'>,
  [x]: readonly string[],
  [maxima, positions]: readonly string[],
): void {
  const outputs = positions ? [maxima || graph.freshName('unread'), positions] : [maxima];
  const dtypes = (['float32', 'int64'] as const).slice(0, outputs.length);
  const names = () => dtypes.map((dtype) => graph.freshName(dtype));
  graph.node('If', [emitIsFinite(graph, x)], outputs, {
    then_branch: graph.branch(dtypes, () => {
      const results = names();
      emitMaxPool(graph, node, [x], results);
      return results;
    }),
    else_branch: graph.branch(dtypes, () => emitMaximaOneByOne(graph, node, x).slice(0, outputs.length)),
  });
}

/** True if the sum of all elements is finite, which implies that all elements are. */
function emitIsFinite(graph: GraphBuilder, x: string): string {
  const [flat, sum, difference, finite] = ['flat', 'sum', 'difference', 'finite'].map((name) =>
    graph.freshName(name),
  );
  graph.node('Reshape', [x, graph.constant('int64', [1], [-1])], [flat]);
  graph.node('ReduceSum', [flat, graph.constant('int64', [1], [0])], [sum], { keepdims: 0 });
  // x − x is 0 only for finite x.
  graph.node('Sub', [sum, sum], [difference]);
  graph.node('Equal', [difference, graph.constant('float32', [], [0])], [finite]);
  return finite;
}

/**
 * Maxima and positions as in at::native's max_pool2d: row by row from −Infinity and the window's first element; larger
 * elements and NaN replace the maximum.
 */
function emitMaximaOneByOne(
  graph: GraphBuilder,
  { outputs: [{ shape: pooled }], attributes }: Node<'ExactMaxPool'>,
  x: string,
): readonly [maxima: string, positions: string] {
  const { kernelShape, strides, pads } = attributes;
  const add = (op: string, inputs: readonly string[], options: Readonly<Record<string, number>> = {}) => {
    const output = graph.freshName(op);
    graph.node(op, inputs, [output], options);
    return output;
  };
  const int64s = (...values: number[]) => graph.constant('int64', [values.length], values);
  const [zero, one, least] = [
    graph.constant('int64', [], [0]),
    graph.constant('int64', [], [1]),
    graph.constant('float32', [], [-Infinity]),
  ];
  // The batch may be dynamic, so everything that depends on it is computed.
  const indices = add('Reshape', [add('Range', [zero, add('Size', [x]), one]), add('Shape', [x])]);
  const around = int64s(0, 0, pads[0], pads[1], 0, 0, pads[2], pads[3]);
  const paddedIndices = add('Pad', [indices, around]);
  const padded = add('Pad', [x, around, least]);
  const ofTap = (image: string, tap: readonly number[]) =>
    [0, 1].reduce((part, axis) => {
      const end = tap[axis] + (pooled[axis + 2] - 1) * strides[axis] + 1;
      return add('Slice', [part, int64s(tap[axis]), int64s(end), int64s(axis + 2), int64s(strides[axis])]);
    }, image);
  const firsts = [0, 1].map((axis) =>
    int64s(
      ...Array.from({ length: pooled[axis + 2] }, (_, k) => Math.max(k * strides[axis] - pads[axis], 0)),
    ),
  );
  let positions = firsts.reduce(
    (part, first, axis) => add('Gather', [part, first], { axis: axis + 2 }),
    indices,
  );
  let maxima = add('Expand', [least, add('Shape', [positions])]);
  for (let row = 0; row < kernelShape[0]; row += 1) {
    for (let column = 0; column < kernelShape[1]; column += 1) {
      const elements = ofTap(padded, [row, column]);
      const takesOver = add('Or', [add('Greater', [elements, maxima]), add('IsNaN', [elements])]);
      maxima = add('Where', [takesOver, elements, maxima]);
      positions = add('Where', [takesOver, ofTap(paddedIndices, [row, column]), positions]);
    }
  }
  return [maxima, positions];
}

/** Number of elements per window of `averagePool`: one number, or [oH, oW]. */
function elementsOfWindows(data: Value, attributes: Operators['AveragePool']): Value {
  const { kernelShape, strides, pads, countIncludePad } = attributes;
  if (countIncludePad || pads.every((pad) => pad === 0)) return constant(kernelShape[0] * kernelShape[1]);
  const [rows, columns] = pooledShape('AveragePool', data, attributes)
    .slice(2)
    .map((count, axis) =>
      Array.from({ length: count }, (_, position) => {
        const start = position * strides[axis] - pads[axis];
        return Math.min(start + kernelShape[axis], data.shape[axis + 2]) - Math.max(start, 0);
      }),
    );
  const counts = rows.flatMap((row) => columns.map((column) => row * column));
  return constantTensor([rows.length, columns.length], counts);
}

function pooledShape(op: string, data: Value, { kernelShape, strides, pads }: PoolAttributes): number[] {
  requireImages(op, data);
  const [n, channels, ...spatial] = data.shape;
  const output = spatial.map((size, axis) => {
    const room = size + pads[axis] + pads[axis + 2] - kernelShape[axis];
    if (room < 0) {
      throw new ShapeError(
        `${op}: the window ${kernelShape.join('x')} is larger than the padded input ${describeType(data)}.`,
      );
    }
    return Math.floor(room / strides[axis]) + 1;
  });
  return [n, channels, ...output];
}

function requireImages(op: string, data: Value): void {
  if (data.dtype !== 'float32' || data.shape.length !== 4) {
    throw new ShapeError(`${op}: expected float32 with 4 dimensions (NCHW), got ${describeType(data)}.`);
  }
}

function flat(value: Value): Value {
  return reshape(value, [sizeOf(value.shape)]);
}
