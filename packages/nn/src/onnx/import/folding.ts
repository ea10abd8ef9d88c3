import { sizeOf } from '../../graph/node.ts';
import type { DType } from '../../dtype.ts';
import { dtypeOfCode } from './decode-tensor.ts';
import type { OperatorCall } from './call.ts';
import { constantArray, integers, type ConstantArray } from './constant-array.ts';

// Arithmetic of shapes: operators whose inputs are known before the graph runs, in the semantics of ONNX.

type FoldingRule = (call: OperatorCall, inputs: readonly ConstantArray[]) => ConstantArray;

/** Applies `compute` to elements of arrays that broadcast. */
const elementwise =
  (compute: (...elements: number[]) => number, dtype?: DType): FoldingRule =>
  (_, inputs) => {
    const shape = inputs.map((input) => input.shape).reduce(broadcast);
    const type = dtype ?? inputs[inputs.length - 1].dtype;
    const round = type === 'float32' ? Math.fround : (number: number) => number;
    return tabulate(type, shape, (index) =>
      round(compute(...inputs.map((input) => elementOf(input, index)))),
    );
  };

/** A quotient; of integers, without its fraction. */
const quotient: FoldingRule = (call, inputs) =>
  elementwise(inputs[0].dtype === 'int64' ? (a, b) => Math.trunc(a / b) : (a, b) => a / b)(call, inputs);

/** Moves elements: the result at an index is the input's element at another. */
function moved(input: ConstantArray, shape: readonly number[], from: (index: number[]) => number[]) {
  return tabulate(input.dtype, shape, (index) => elementOf(input, from(index)));
}

const reshaped = ({ dtype, data }: ConstantArray, shape: readonly number[]) =>
  constantArray(dtype, shape, data);

export const foldingRules: Readonly<Record<string, FoldingRule>> = {
  Identity: (_, [x]) => x,
  Add: elementwise((a, b) => a + b),
  Sub: elementwise((a, b) => a - b),
  Mul: elementwise((a, b) => a * b),
  Div: quotient,
  Mod: elementwise((a, b) => a - Math.floor(a / b) * b),
  Neg: elementwise((a) => -a),
  Abs: elementwise(Math.abs),
  Sqrt: elementwise(Math.sqrt),
  Floor: elementwise(Math.floor),
  Ceil: elementwise(Math.ceil),
  Pow: (call, inputs) => ({ ...elementwise((a, b) => a ** b)(call, inputs), dtype: inputs[0].dtype }),
  Min: elementwise(Math.min),
  Max: elementwise(Math.max),
  Equal: elementwise((a, b) => Number(a === b), 'bool'),
  Less: elementwise((a, b) => Number(a < b), 'bool'),
  LessOrEqual: elementwise((a, b) => Number(a <= b), 'bool'),
  Greater: elementwise((a, b) => Number(a > b), 'bool'),
  GreaterOrEqual: elementwise((a, b) => Number(a >= b), 'bool'),
  And: elementwise((a, b) => Number(a !== 0 && b !== 0), 'bool'),
  Or: elementwise((a, b) => Number(a !== 0 || b !== 0), 'bool'),
  Not: elementwise((a) => Number(a === 0), 'bool'),
  Where: elementwise((condition, a, b) => (condition === 0 ? b : a)),
  Cast: (call, [x]) => {
    const dtype = dtypeOfCode(call.int('to', 1));
    if (dtype === undefined) throw call.error(`expected a cast to a float, an integer or bool`);
    const convert = { float32: Math.fround, int64: Math.trunc, bool: (n: number) => Number(n !== 0) }[dtype];
    return constantArray(dtype, x.shape, Array.from(x.data, convert));
  },
  Range: (call, [{ dtype }]) => {
    const [start, end, step] = [0, 1, 2].map((index) => call.number(index)!);
    const count = Math.max(0, Math.ceil((end - start) / step));
    return constantArray(
      dtype,
      [count],
      Array.from({ length: count }, (_, i) => start + i * step),
    );
  },
  ConstantOfShape: (call) => {
    const value = call.array('value') ?? constantArray('float32', [1], [0]);
    return tabulate(value.dtype, call.numbers(0) ?? [], () => value.data[0]);
  },
  Reshape: (call, [x]) => reshaped(x, reshapedTo(call, x.shape)),
  Unsqueeze: (call, [x]) => reshaped(x, unsqueezed(call, x.shape)),
  Squeeze: (call, [x]) => reshaped(x, squeezed(call, x.shape)),
  Transpose: (call, [x]) => {
    const perm = call.ints('perm') ?? [...x.shape.keys()].reverse();
    return moved(
      x,
      perm.map((axis) => x.shape[axis]),
      (index) => perm.map((_one, axis) => index[perm.indexOf(axis)]),
    );
  },
  Concat: (call, inputs) => {
    const axis = axisOf(call.int('axis', 0), inputs[0].shape.length);
    const starts: number[] = [];
    const total = inputs.reduce((sum, { shape }) => {
      starts.push(sum);
      return sum + shape[axis];
    }, 0);
    return tabulate(inputs[0].dtype, inputs[0].shape.with(axis, total), (index) => {
      const part = starts.findLastIndex((start, k) => start <= index[axis] && inputs[k].shape[axis] > 0);
      return elementOf(inputs[part], index.with(axis, index[axis] - starts[part]));
    });
  },
  Gather: (call, [x, positions]) => {
    const axis = axisOf(call.int('axis', 0), x.shape.length);
    const count = positions.shape.length;
    const shape = x.shape.toSpliced(axis, 1, ...positions.shape);
    return moved(x, shape, (index) => {
      const position = elementOf(positions, index.slice(axis, axis + count));
      return index.toSpliced(axis, count, position < 0 ? position + x.shape[axis] : position);
    });
  },
  Slice: (call, [x]) => {
    const parts = slicesOf(call, x.shape);
    const shape = x.shape.map((size, axis) => parts.get(axis)?.length ?? size);
    return moved(x, shape, (index) => index.map((place, axis) => parts.get(axis)?.[place] ?? place));
  },
  Expand: (call, [x]) => {
    const shape = broadcast(x.shape, call.numbers(1) ?? []);
    return tabulate(x.dtype, shape, (index) => elementOf(x, index));
  },
  ReduceProd: (_, [x]) => integers([Array.from(x.data).reduce((product, size) => product * size, 1)], []),
};

/** The shape that a Reshape asks for: 0 keeps a dimension, −1 is what is left. */
export function reshapedTo(call: OperatorCall, shape: readonly number[]): number[] {
  const given = call.numbers(1) ?? [];
  const kept = call.int('allowzero', 0)
    ? given
    : given.map((size, axis) => (size === 0 ? shape[axis] : size));
  const known = sizeOf(kept.filter((size) => size !== -1));
  return kept.map((size) => (size === -1 ? sizeOf(shape) / known : size));
}

export function unsqueezed(call: OperatorCall, shape: readonly number[]): number[] {
  const axes = call.list('axes', 1) ?? [];
  const rank = shape.length + axes.length;
  const added = axes.map((axis) => axisOf(axis, rank)).sort((a, b) => a - b);
  return added.reduce<number[]>((result, axis) => result.toSpliced(axis, 0, 1), [...shape]);
}

export function squeezed(call: OperatorCall, shape: readonly number[]): number[] {
  const axes = call.list('axes', 1)?.map((axis) => axisOf(axis, shape.length));
  return shape.filter((size, axis) => (axes ? !axes.includes(axis) : size !== 1));
}

/** The positions that a Slice selects, by axis. */
export function slicesOf(call: OperatorCall, shape: readonly number[]): Map<number, number[]> {
  const starts = call.list('starts', 1) ?? [];
  const ends = call.list('ends', 2) ?? [];
  const axes = call.list('axes', 3) ?? [...starts.keys()];
  const steps = call.numbers(4) ?? starts.map(() => 1);
  return new Map(
    axes.map((given, k) => {
      const axis = axisOf(given, shape.length);
      const size = shape[axis];
      const step = steps[k];
      const [least, most] = step > 0 ? [0, size] : [-1, size - 1];
      const [start, end] = [starts[k], ends[k]].map((bound) =>
        Math.min(Math.max(bound < 0 ? bound + size : bound, least), most),
      );
      const count = Math.max(0, Math.ceil((end - start) / step));
      return [axis, Array.from({ length: count }, (_, i) => start + i * step)];
    }),
  );
}

export function axisOf(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/** numpy's broadcasting of shapes. */
function broadcast(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const [left, right] = [a, b].map((shape) => shape[axis - rank + shape.length] ?? 1);
    return left === 1 ? right : left;
  });
}

/** The element at an index; missing leading dimensions and dimensions of 1 are repeated. */
function elementOf({ shape, data }: ConstantArray, index: readonly number[]): number {
  const own = index.slice(index.length - shape.length);
  return data[shape.reduce((place, size, axis) => place * size + (size === 1 ? 0 : own[axis]), 0)];
}

function tabulate(
  dtype: DType,
  shape: readonly number[],
  compute: (index: number[]) => number,
): ConstantArray {
  const strides = shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
  const data = Array.from({ length: sizeOf(shape) }, (_, place) =>
    compute(shape.map((size, axis) => Math.floor(place / strides[axis]) % size)),
  );
  return constantArray(dtype, shape, data);
}
