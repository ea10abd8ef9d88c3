import { ShapeError } from '../errors/errors.ts';
import { createNode, createValue, type Node, type Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import type { Operators } from '../graph/operators.ts';
import type { PoolAttributes } from '../graph/attributes.ts';
import { isSameSequence } from '../graph/same-data.ts';
import type { Attributes, GraphBuilder } from '../onnx-format/graph-builder.ts';
import { convTranspose } from './convolution.ts';
import { refuseGradient, type OperatorFamily } from './definition.ts';
import { div } from './elementwise.ts';
import { gatherElements } from './indexing.ts';
import { requireImages } from './images.ts';
import { maxPoolGradient } from './own/max-pool-gradient.ts';
import { expand, reshape } from './shape.ts';
import { constant, constantTensor } from './source.ts';

/**
 * Largest element of each window, as torch.nn.functional.max_pool2d.
 *
 * @param data [N, C, H, W]
 * @returns [N, C, floor((H + pads − dilation·(kH − 1) − 1) / stride) + 1, …]
 */
export function maxPool(data: Value, attributes: PoolAttributes): Value {
  const shape = pooledShape('maxPool', data, attributes);
  const types = [
    { dtype: data.dtype, shape },
    { dtype: 'int64', shape },
  ] as const;
  return createNode('MaxPool', [data], attributes, types).outputs[0];
}

/** Mean of each window, as torch.nn.functional.avg_pool2d; shapes as in `maxPool`. */
export function averagePool(data: Value, attributes: Operators['AveragePool']): Value {
  const shape = pooledShape('avgPool', data, attributes);
  return createValue('AveragePool', [data], attributes, { dtype: data.dtype, shape });
}

/** True if windows do not overlap. */
export function windowsAreDisjoint(attributes: PoolAttributes): boolean {
  return reachOf(attributes).every((reach, axis) => attributes.strides[axis] >= reach);
}

/** The elements from the first to the last of a window, along each axis. */
function reachOf({ kernelShape, dilations }: PoolAttributes): number[] {
  return kernelShape.map((size, axis) => (size - 1) * (dilations?.[axis] ?? 1) + 1);
}

export const pooling: OperatorFamily<'MaxPool' | 'ExactMaxPool' | 'AveragePool' | 'MaxUnpool'> = {
  MaxPool: {
    emit: emitMaxPool,
    omits: [1],
    gradient: ({ inputs: [x], outputs: [, positions], attributes }, [d]) => {
      if (d === undefined) return [];
      const { shape } = x;
      if (windowsAreDisjoint(attributes)) {
        return [createValue('MaxUnpool', [d, positions], { shape }, { dtype: d.dtype, shape })];
      }
      return [maxPoolGradient(d, positions, shape)];
    },
  },
  ExactMaxPool: { emit: emitExactMaxPool, omits: [1], gradient: refuseGradient },
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
      const [n, channels, ...spatial] = x.shape;
      const channelwise = reshape(div(d, divisorOf(x, d.shape.slice(2), attributes)), [
        n * channels,
        1,
        ...d.shape.slice(2),
      ]);
      const ones = expand(constant(1), [1, 1, ...kernelShape]);
      const window = { strides, pads, dilations: kernelShape.map(() => 1), group: 1 };
      return [reshape(convTranspose(channelwise, ones, window, spatial), x.shape)];
    },
  },
  MaxUnpool: {
    emit: (graph, { attributes: { shape } }, inputs, outputs) => {
      // ONNX requires a kernel shape, but does not use it if the output's shape is passed.
      const outputShape = graph.constant('int64', [shape.length], shape);
      const kernel_shape = shape.slice(2).map(() => 1);
      graph.node('MaxUnpool', [...inputs, outputShape], outputs, { kernel_shape });
    },
    gradient: ({ inputs: [values, positions] }, [d]) => [
      d && reshape(gatherElements(flat(d), flat(positions)), values.shape),
    ],
  },
};

type AnyMaxPool = Pick<Node<'MaxPool' | 'ExactMaxPool'>, 'inputs' | 'outputs' | 'attributes'>;

function emitMaxPool(
  graph: GraphBuilder,
  node: AnyMaxPool,
  inputs: readonly string[],
  [maxima, positions]: readonly string[],
): void {
  const { kernelShape, strides, dilations = [] } = node.attributes;
  // Positions cost ten times as much as the maxima alone, so they are requested only if they are read.
  const outputs = positions ? [maxima, positions] : [maxima];
  const accepted = acceptedPads(node);
  if (accepted === undefined) {
    const found = emitMaximaOneByOne(graph, node, inputs[0]);
    for (const [place, output] of outputs.entries()) graph.node('Identity', [found[place]], [output]);
    return;
  }
  const window = { kernel_shape: kernelShape, strides, ...accepted };
  graph.node('MaxPool', inputs, outputs, dilations.length === 0 ? window : { ...window, dilations });
}

/**
 * onnxruntime accepts pads shorter than the kernel. Pads after the images are longer only if `padsForLastWindow` has
 * extended them for a dilated window. Rounding up adds the same window again, because a given pad is at most half of the kernel.
 * Undefined if this would also add a window along another axis.
 */
function acceptedPads({ inputs: [x], outputs: [result], attributes }: AnyMaxPool): Attributes | undefined {
  const { kernelShape, strides, pads } = attributes;
  const axes = kernelShape.length;
  const shortened = pads.map((pad, side) => Math.min(pad, kernelShape[side % axes] - 1));
  if (isSameSequence(pads, shortened)) return { pads };
  const isSame = reachOf(attributes).every((reach, axis) => {
    const room = x.shape[axis + 2] + shortened[axis] + shortened[axis + axes] - reach;
    return Math.ceil(room / strides[axis]) + 1 === result.shape[axis + 2];
  });
  return isSame ? { pads: shortened, ceil_mode: 1 } : undefined;
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
  const outputs = positions ? [maxima, positions] : [maxima];
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
 * Maxima and positions as in at::native's max_pool2d: in row-major order from −Infinity and the window's first element; larger
 * elements and NaN replace the maximum.
 */
function emitMaximaOneByOne(
  graph: GraphBuilder,
  { outputs: [{ shape: pooled }], attributes }: AnyMaxPool,
  x: string,
): readonly [maxima: string, positions: string] {
  const { kernelShape, strides, pads } = attributes;
  const axes = kernelShape.length;
  const dilations = attributes.dilations ?? Array<number>(axes).fill(1);
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
  const around = int64s(0, 0, ...pads.slice(0, axes), 0, 0, ...pads.slice(axes));
  const paddedIndices = add('Pad', [indices, around]);
  const padded = add('Pad', [x, around, least]);
  const ofTap = (image: string, tap: readonly number[]) =>
    tap.reduce((part, position, axis) => {
      const start = position * dilations[axis];
      const end = start + (pooled[axis + 2] - 1) * strides[axis] + 1;
      return add('Slice', [part, int64s(start), int64s(end), int64s(axis + 2), int64s(strides[axis])]);
    }, image);
  const firsts = kernelShape.map((_, axis) =>
    int64s(
      ...Array.from({ length: pooled[axis + 2] }, (_, k) =>
        firstInside(k * strides[axis] - pads[axis], dilations[axis]),
      ),
    ),
  );
  let positions = firsts.reduce(
    (part, first, axis) => add('Gather', [part, first], { axis: axis + 2 }),
    indices,
  );
  let maxima = add('Expand', [least, add('Shape', [positions])]);
  for (const tap of indicesOf(kernelShape)) {
    const elements = ofTap(padded, tap);
    const takesOver = add('Or', [add('Greater', [elements, maxima]), add('IsNaN', [elements])]);
    maxima = add('Where', [takesOver, elements, maxima]);
    positions = add('Where', [takesOver, ofTap(paddedIndices, tap), positions]);
  }
  return [maxima, positions];
}

/** The first element of a window that is not padding. */
function firstInside(start: number, dilation: number): number {
  return start >= 0 ? start : start + Math.ceil(-start / dilation) * dilation;
}

/** All indices of an array of this shape, row-major. */
function indicesOf(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (indices, size) => indices.flatMap((index) => Array.from({ length: size }, (_, k) => [...index, k])),
    [[]],
  );
}

/** Number of elements per window of `averagePool`: one number, or [oH, oW]. */
function divisorOf(
  { shape }: Value,
  windows: readonly number[],
  attributes: Operators['AveragePool'],
): Value {
  const { kernelShape, pads, countIncludePad } = attributes;
  if (countIncludePad || pads.every((pad) => pad === 0)) return constant(sizeOf(kernelShape));
  const none = windows.map(() => 0);
  return constantTensor(windows, elementsOfWindows(shape.slice(2), windows, attributes, none));
}

/**
 * Number of elements per window that are in the images or in margins around them, row-major.
 *
 * @param spatial the images' size
 * @param windows the number of windows along each axis
 * @param margins elements on each side of each axis that count, at most the pads
 */
export function elementsOfWindows(
  spatial: readonly number[],
  windows: readonly number[],
  { kernelShape, strides, pads }: PoolAttributes,
  margins: readonly number[],
): number[] {
  const inside = windows.map((count, axis) =>
    Array.from({ length: count }, (_, position) => {
      const start = position * strides[axis] - pads[axis];
      const end = Math.min(start + kernelShape[axis], spatial[axis] + margins[axis]);
      return end - Math.max(start, -margins[axis]);
    }),
  );
  return inside.reduce((sizes, along) => sizes.flatMap((size) => along.map((count) => size * count)), [1]);
}

/**
 * Pads for which the number of windows is rounded up, as ceil_mode does. A last window that would begin in the padding after
 * the images is left out.
 *
 * @param window the elements from the first to the last of a window, its strides and the given pads
 */
export function padsForLastWindow(
  spatial: readonly number[],
  { reach, strides, pads }: Readonly<Record<'reach' | 'strides' | 'pads', readonly number[]>>,
): number[] {
  const axes = spatial.length;
  const ends = spatial.map((size, axis) => {
    const [before, after] = [pads[axis], pads[axis + axes]];
    const windows = Math.ceil((size + before + after - reach[axis]) / strides[axis]);
    const last = windows * strides[axis] >= size + before ? windows - 1 : windows;
    return Math.max(after, last * strides[axis] + reach[axis] - size - before);
  });
  return [...pads.slice(0, axes), ...ends];
}

function pooledShape(op: string, data: Value, attributes: PoolAttributes): number[] {
  const { kernelShape, strides, pads } = attributes;
  const axes = kernelShape.length;
  const [n, channels, ...spatial] = requireImages(op, data, axes);
  const reach = reachOf(attributes);
  const output = spatial.map((size, axis) => {
    const room = size + pads[axis] + pads[axis + axes] - reach[axis];
    if (room < 0) {
      throw new ShapeError(
        `${op}${axes}d: the window ${reach.join('x')} is larger than the padded input ${describeType(data)}.`,
      );
    }
    return Math.floor(room / strides[axis]) + 1;
  });
  return [n, channels, ...output];
}

function flat(value: Value): Value {
  return reshape(value, [sizeOf(value.shape)]);
}
