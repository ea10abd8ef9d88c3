import { commonDtype, promotedFloat } from './promotion.ts';
import { cast } from './elementwise.ts';
import { isFloat, type Scalar } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import { createNode, createValue, isNode, type Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import type { Operators } from '../graph/operators.ts';
import { isTracingSizes } from '../graph/size-tracing.ts';
import { isSameSequence } from '../graph/same-data.ts';
import type { GraphBuilder } from '../onnx-format/graph-builder.ts';
import { normalizeAxis } from './axes.ts';
import { sumToShape } from './broadcast.ts';
import { type OperatorFamily } from './definition.ts';
import { asElement } from '../scalar.ts';
import { constant } from './source.ts';

type Shaping = 'Reshape' | 'Transpose' | 'Concat' | 'Split' | 'Slice' | 'Flip' | 'Pad' | 'Expand' | 'Trilu';

/** Reshapes in row-major order. One dimension may be -1, which is inferred. */
export function reshape(value: Value, shape: readonly number[]): Value {
  const resolved = resolveShape(value, shape);
  if (isSameSequence(resolved, value.shape) && !shape.includes(-1) && !isTracingSizes()) return value;
  return createValue('Reshape', [value], { shape }, { dtype: value.dtype, shape: resolved });
}

/** The value with the same elements before its Reshapes. */
export function viewed(value: Value): Value {
  let source = value;
  while (isNode(source.node, 'Reshape')) source = source.node.inputs[0];
  return source;
}

/** Flattens dimensions `startDim` to `endDim` into one. */
export function flatten(value: Value, startDim: number, endDim: number): Value {
  if (value.shape.length === 0) return reshape(value, [1]);
  const [start, end] = [startDim, endDim].map((axis) => normalizeAxis('flatten', axis, value));
  if (start > end) {
    throw new ShapeError(
      `flatten: expected startDim ≤ endDim, got ${startDim} and ${endDim} for ${describeType(value)}.`,
    );
  }
  const { shape } = value;
  const flat = [...shape.slice(0, start), sizeOf(shape.slice(start, end + 1)), ...shape.slice(end + 1)];
  // A dynamic first dimension, so that an exported model accepts every batch size.
  return reshape(value, sizeOf(shape) === 0 ? flat : flat.with(0, -1));
}

/** Inserts a dimension of size 1. */
export function unsqueeze(value: Value, dim: number): Value {
  const rank = value.shape.length;
  if (!Number.isInteger(dim) || dim < -rank - 1 || dim > rank) {
    throw new ShapeError(
      `unsqueeze: expected dim from ${-rank - 1} to ${rank} for ${describeType(value)}, got ${dim}.`,
    );
  }
  return reshape(value, value.shape.toSpliced(dim < 0 ? dim + rank + 1 : dim, 0, 1));
}

/** Axis `i` of the result is axis `given[i]` of the value; negative ones count from the last. */
export function transpose(value: Value, given: readonly number[]): Value {
  const rank = value.shape.length;
  const perm = given.map((axis) => (axis < 0 ? axis + rank : axis));
  const sorted = [...perm].sort((a, b) => a - b);
  if (sorted.length !== rank || sorted.some((axis, position) => axis !== position)) {
    throw new ShapeError(
      `permute: expected each axis of ${describeType(value)} once, got [${given.join()}].`,
    );
  }
  const shape = perm.map((axis) => value.shape[axis]);
  return createValue('Transpose', [value], { perm }, { dtype: value.dtype, shape });
}

export function concat(values: readonly Value[], givenAxis: number): Value {
  if (values.length === 0) throw new ShapeError('cat: expected at least one tensor, got none.');
  const [first] = values;
  const axis = normalizeAxis('cat', givenAxis, first);
  for (const value of values) {
    const fits =
      commonDtype(value, first) !== undefined &&
      value.shape.length === first.shape.length &&
      value.shape.every((size, position) => position === axis || size === first.shape[position]);
    if (!fits) {
      throw new ShapeError(
        `cat: expected equal dtypes and shapes except along axis ${axis}, got ${describeType(first)} and ${describeType(value)}.`,
      );
    }
  }
  if (values.length === 1) return first;
  const length = values.reduce((sum, value) => sum + value.shape[axis], 0);
  const dtype = isFloat(first) ? promotedFloat(...values) : first.dtype;
  return createValue(
    'Concat',
    values.map((value) => cast(value, dtype)),
    { axis },
    { dtype, shape: first.shape.with(axis, length) },
  );
}

/** Splits a value into `parts` equal pieces along an axis. */
export function split(value: Value, givenAxis: number, parts: number): readonly Value[] {
  const axis = normalizeAxis('split', givenAxis, value);
  const size = value.shape[axis];
  if (!Number.isInteger(parts) || parts < 1 || size % parts !== 0) {
    throw new ShapeError(
      `split: axis ${axis} of ${describeType(value)} cannot be divided into ${parts} equal parts.`,
    );
  }
  const type = { dtype: value.dtype, shape: value.shape.with(axis, size / parts) };
  return createNode('Split', [value], { axis, parts }, Array<typeof type>(parts).fill(type)).outputs;
}

/** Splits a value into pieces of these sizes along an axis, which add up to its own. */
export function splitInto(value: Value, axis: number, sizes: readonly number[]): readonly Value[] {
  if (sizes.every((size) => size === sizes[0])) return split(value, axis, sizes.length);
  const types = sizes.map((size) => ({ dtype: value.dtype, shape: value.shape.with(axis, size) }));
  return createNode('Split', [value], { axis, parts: sizes.length, sizes }, types).outputs;
}

/**
 * Elements `start` (inclusive) to `end` (exclusive) along an axis.
 *
 * @param given the bounds as the caller wrote them, which an exported model uses for other sizes
 */
export function slice(
  value: Value,
  givenAxis: number,
  start: number,
  end: number,
  given?: Operators['Slice']['given'],
): Value {
  const axis = normalizeAxis('slice', givenAxis, value);
  const size = value.shape[axis];
  if (!(Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= size)) {
    throw new ShapeError(
      `slice: ${start} to ${end} is out of range for axis ${axis} of ${describeType(value)}.`,
    );
  }
  if (start === 0 && end === size && !isTracingSizes()) return value;
  const step = isTracingSizes() ? (given?.step ?? 1) : 1;
  const type = { dtype: value.dtype, shape: value.shape.with(axis, Math.ceil((end - start) / step)) };
  const attributes = given && isTracingSizes() ? { axis, start, end, given } : { axis, start, end };
  return createValue('Slice', [value], attributes, type);
}

/** The elements along an axis in reverse order. */
export function reverse(value: Value, axis: number): Value {
  return createValue('Flip', [value], { axis }, value);
}

/** Pads a value with a number, converted as by torch's fill (see `asElement`). */
export function pad(
  value: Value,
  before: readonly number[],
  after: readonly number[],
  number: Scalar = 0,
): Value {
  const element = asElement(number, value.dtype);
  if ([...before, ...after].every((count) => count === 0) && !isTracingSizes()) return value;
  const shape = value.shape.map((size, axis) => size + before[axis] + after[axis]);
  const attributes = element === 0 ? { before, after } : { before, after, value: element };
  return createValue('Pad', [value], attributes, { dtype: value.dtype, shape });
}

/** Repeats dimensions of size 1 until the shape is `shape`. */
export function expand(value: Value, shape: readonly number[]): Value {
  if (isSameSequence(value.shape, shape) && !isTracingSizes()) return value;
  return createValue('Expand', [value], { shape }, { dtype: value.dtype, shape });
}

/** Sets elements below (`upper`) or above diagonal `k` to 0 in the matrices of the last two axes. */
export function trilu(value: Value, k: number, upper: boolean): Value {
  return createValue('Trilu', [value], { upper, k }, value);
}

/**
 * Emits a Reshape. In a large array one dimension (default: the last) is -1, so that a dynamic size stays dynamic (see
 * `emitModel`). Small shapes are explicit, since onnxruntime can only remove redundant Reshapes of explicit shapes, and so are
 * those of an exported model, which finds the dynamic sizes itself.
 */
export function emitReshape(
  graph: GraphBuilder,
  x: string,
  shape: readonly number[],
  y: string,
  openAxis = shape.length - 1,
): void {
  const isExplicit = isTracingSizes() || sizeOf(shape) < minDynamicElements;
  const given = isExplicit ? shape : shape.with(openAxis, -1);
  // Without allowzero, 0 would keep the dimension of x.
  const allowzero = given.includes(0) ? { allowzero: 1 } : {};
  graph.node('Reshape', [x, graph.constant('int64', [given.length], given)], [y], allowzero);
}

/** Elements: 256 KiB of float32. */
const minDynamicElements = 2 ** 16;

/** Parts of a concatenation from which on one node splits its gradient: fewer cost less if not all gradients are read. */
const manyParts = 8;

export const shaping: OperatorFamily<Shaping> = {
  Reshape: {
    emit: (graph, { attributes: { shape } }, [x], [y]) => {
      emitReshape(graph, x, shape, y);
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x] }, [d]) => [d && reshape(d, x.shape)],
  },
  Transpose: {
    emit: (graph, { attributes: { perm } }, inputs, outputs) => {
      graph.node('Transpose', inputs, outputs, { perm });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ attributes: { perm } }, [d]) => [
      d &&
        transpose(
          d,
          perm.map((_, axis) => perm.indexOf(axis)),
        ),
    ],
  },
  Concat: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      graph.node('Concat', inputs, outputs, { axis });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs, attributes: { axis } }, [d]) => {
      if (d === undefined) return [];
      const sizes = inputs.map((part) => part.shape[axis]);
      if (inputs.length > manyParts && !sizes.includes(0)) return splitInto(d, axis, sizes);
      let end = 0;
      return inputs.map((part) => {
        const start = end;
        end += part.shape[axis];
        return slice(d, axis, start, end);
      });
    },
  },
  Split: {
    emit: (graph, { attributes: { axis, parts, sizes } }, inputs, outputs) => {
      if (sizes === undefined) graph.node('Split', inputs, outputs, { axis, num_outputs: parts });
      else graph.node('Split', [...inputs, graph.constant('int64', [parts], sizes)], outputs, { axis });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x], outputs, attributes: { axis } }, gradients) => {
      const first = gradients.findIndex((d) => d !== undefined);
      const last = gradients.findLastIndex((d) => d !== undefined);
      const parts = outputs.map((part, index) => gradients[index] ?? expandZero(part));
      const none = x.shape.map(() => 0);
      // Zeros at the ends are padded; onnxruntime would keep expanded zeros as constants.
      const [before, after] = [outputs.slice(0, first), outputs.slice(last + 1)].map((ends) =>
        none.with(
          axis,
          ends.reduce((sum, { shape }) => sum + shape[axis], 0),
        ),
      );
      return [pad(concat(parts.slice(first, last + 1), axis), before, after)];
    },
  },
  Slice: {
    emit: (graph, { attributes: { axis, start, end, given } }, inputs, outputs) => {
      const { step = 1, ...bounds } = given ?? { start, end };
      emitSlice(graph, inputs, outputs, { ...bounds, axis, step });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x], attributes: { axis, start, end } }, [d]) => {
      const none = x.shape.map(() => 0);
      // onnxruntime rejects a Pad of no elements.
      if (d === undefined || start === end) return [];
      return [pad(d, none.with(axis, start), none.with(axis, x.shape[axis] - end))];
    },
  },
  Flip: {
    emit: (graph, { attributes: { axis } }, inputs, outputs) => {
      emitSlice(graph, inputs, outputs, { start: -1, end: -Number.MAX_SAFE_INTEGER, axis, step: -1 });
    },
    takesBfloat16: true,
    differentiatesBfloat16: true,
    gradient: ({ attributes: { axis } }, [d]) => [d && reverse(d, axis)],
  },
  Pad: {
    emit: (graph, { attributes: { before, after, value }, outputs: [{ dtype }] }, inputs, outputs) => {
      const pads = graph.constant('int64', [2 * before.length], [...before, ...after]);
      const number = value === undefined ? [] : [graph.constant(dtype, [], [value])];
      graph.node('Pad', [...inputs, pads, ...number], outputs);
    },
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x], attributes: { before } }, [d]) => [
      d && x.shape.reduce((inner, size, axis) => slice(inner, axis, before[axis], before[axis] + size), d),
    ],
  },
  Expand: {
    emit: (graph, { attributes: { shape } }, inputs, outputs) => {
      graph.node('Expand', [...inputs, graph.constant('int64', [shape.length], shape)], outputs);
    },
    differentiatesBfloat16: true,
    gradient: ({ inputs: [x] }, [d]) => [d && sumToShape(d, x.shape)],
  },
  Trilu: {
    emit: (graph, { attributes: { upper, k } }, inputs, outputs) => {
      graph.node('Trilu', [...inputs, graph.constant('int64', [], [k])], outputs, { upper: Number(upper) });
    },
    differentiatesBfloat16: true,
    gradient: ({ attributes: { upper, k } }, [d]) => [d && trilu(d, k, upper)],
  },
};

/** Bounds as in Python: negative ones count from the end, and bounds outside are clamped to the ends. */
function emitSlice(
  graph: GraphBuilder,
  inputs: readonly string[],
  outputs: readonly string[],
  { start, end, axis, step }: Readonly<Record<'start' | 'end' | 'axis' | 'step', number>>,
): void {
  const bounds = [start, end, axis, ...(step === 1 ? [] : [step])];
  graph.node('Slice', [...inputs, ...bounds.map((value) => graph.constant('int64', [1], [value]))], outputs);
}

function expandZero({ dtype, shape }: Value): Value {
  return cast(expand(constant(0), shape), dtype);
}

function resolveShape(value: Value, shape: readonly number[]): number[] {
  const size = sizeOf(value.shape);
  const known = sizeOf(shape.filter((dimension) => dimension !== -1));
  const open = shape.filter((dimension) => dimension === -1).length;
  const valid = shape.every((dimension) => Number.isInteger(dimension) && dimension >= -1);
  const fits = open === 0 ? known === size : open === 1 && known > 0 && size % known === 0;
  if (!valid || !fits) {
    throw new ShapeError(
      `reshape: ${describeType(value)} has ${size} elements, which cannot have shape [${shape.join()}]` +
        `${open > 1 ? '; only one dimension may be -1' : ''}.`,
    );
  }
  return shape.map((dimension) => (dimension === -1 ? size / known : dimension));
}
