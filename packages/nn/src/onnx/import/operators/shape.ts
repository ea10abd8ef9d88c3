import { cat } from '../../../tensor/combine.ts';
import { sizeOf } from '../../../value-type.ts';
import type { OperatorCall } from '../call.ts';
import { integers, type ConstantArray } from '../constant-array.ts';
import { axisOf, broadcast, elementOf, moved, reshaped, tabulate } from '../folding.ts';
import {
  every,
  flag,
  input,
  int,
  integral,
  ints,
  known,
  operator,
  optional,
  optionalInt,
  requiredInt,
  since,
  until,
  variadic,
  type OperatorVersions,
} from '../specification.ts';

const shapes = { types: { T: every, I: integral } };
const data = input('data');

interface AxesAttribute {
  readonly axes: readonly number[] | undefined;
}

/** Operators whose results have the elements of their inputs in the same order, or follow from shapes. */
export const shapeOperators = {
  Shape: operator({
    types: { T: every },
    inputs: [data],
    outputs: ['int64'],
    attributes: { start: since(15, int(0)), end: since(15, optionalInt) },
    isShape: true,
    compute: (call) => {
      const { start, end } = call.attributes;
      return integers(call.operand(0).shape.slice(start, end));
    },
  }),
  Size: operator({
    types: { T: every },
    inputs: [data],
    outputs: ['int64'],
    attributes: {},
    isShape: true,
    compute: (call) => integers([sizeOf(call.operand(0).shape)], []),
  }),
  Reshape: operator({
    ...shapes,
    inputs: [data, known(input('shape', 'I'))],
    attributes: { allowzero: since(14, flag(0)) },
    fold: (call, [x]) => reshaped(x, reshapedTo(call, x.shape)),
    compute: (call) => call.tensor(0).view(...reshapedTo(call, call.tensor(0).shape)),
  }),
  Flatten: operator({
    types: { T: every },
    inputs: [data],
    attributes: { axis: int(1) },
    compute: (call) => {
      const x = call.tensor(0);
      const axis = axisOf(call.attributes.axis, x.shape.length);
      return x.view(sizeOf(x.shape.slice(0, axis)), sizeOf(x.shape.slice(axis)));
    },
  }),
  Unsqueeze: operator({
    ...shapes,
    inputs: [data, since(13, known(input('axes', 'I')))],
    attributes: { axes: until(12, { ...ints, isRequired: true }) },
    fold: (call, [x]) => reshaped(x, unsqueezed(call, x.shape)),
    compute: (call) => call.tensor(0).view(...unsqueezed(call, call.tensor(0).shape)),
  }),
  Squeeze: operator({
    ...shapes,
    inputs: [data, since(13, known(optional('axes', 'I')))],
    attributes: { axes: until(12, ints) },
    fold: (call, [x]) => reshaped(x, squeezed(call, x.shape)),
    compute: (call) => call.tensor(0).view(...squeezed(call, call.tensor(0).shape)),
  }),
  Transpose: operator({
    types: { T: every },
    inputs: [data],
    attributes: { perm: ints },
    fold: (call, [x]) => {
      const perm = call.attributes.perm ?? [...x.shape.keys()].reverse();
      return moved(
        x,
        perm.map((axis) => x.shape[axis]),
        (index) => perm.map((_, axis) => index[perm.indexOf(axis)]),
      );
    },
    compute: (call) => {
      const x = call.tensor(0);
      return x.permute(...(call.attributes.perm ?? [...x.shape.keys()].reverse()));
    },
  }),
  Concat: operator({
    types: { T: every },
    inputs: [variadic('inputs')],
    attributes: { axis: requiredInt },
    fold: (call, inputs) => concatenated(inputs, axisOf(call.attributes.axis, inputs[0].shape.length)),
    compute: (call) => cat(call.tensors(), call.attributes.axis),
  }),
  Split: operator({
    ...shapes,
    inputs: [data, since(13, known(optional('split', 'I')))],
    outputs: ['...T'],
    attributes: { axis: int(0), split: until(12, ints), num_outputs: since(18, optionalInt) },
    refuse: ({ attributes: { num_outputs } }) =>
      num_outputs === 0 ? 'expected at least one output, got num_outputs = 0' : undefined,
    compute: (call) => {
      const x = call.tensor(0);
      const axis = axisOf(call.attributes.axis, x.shape.length);
      const count = call.attributes.num_outputs ?? call.node.outputs.length;
      const given = call.attributes.split ?? call.numbers(1);
      const sizes = given ?? equalParts(x.shape[axis], count);
      if (sizes.length < call.node.outputs.length || sizeOfAll(sizes) !== x.shape[axis]) {
        throw call.mismatch(
          `expected ${call.node.outputs.length} sizes with the sum ${x.shape[axis]}, got [${sizes.join()}]`,
        );
      }
      if (!sizes.includes(0)) return x.split(sizes, axis);
      return sizes.map((size, part) => x.narrow(axis, sizeOfAll(sizes.slice(0, part)), size));
    },
  }),
  Expand: operator({
    ...shapes,
    since: 8,
    inputs: [data, known(input('shape', 'I'))],
    attributes: {},
    fold: (call, [x]) => {
      const shape = broadcast(x.shape, call.numbers(1)!);
      return tabulate(x.type, shape, (index) => elementOf(x, index));
    },
    compute: (call) => {
      const x = call.tensor(0);
      return x.expand(...broadcast(x.shape, call.numbers(1)!));
    },
  }),
  Tile: operator({
    ...shapes,
    inputs: [data, known(input('repeats', 'I'))],
    attributes: {},
    fold: (call, [x]) => {
      const repeats = call.numbers(1)!;
      return moved(
        x,
        x.shape.map((size, axis) => size * repeats[axis]),
        (index) => index.map((place, axis) => place % x.shape[axis]),
      );
    },
    compute: (call) => {
      const repeats = call.numbers(1)!;
      const part = repeats.reduce(
        (x, count, axis) => (count === 0 ? x.narrow(axis, 0, 0) : x),
        call.tensor(0),
      );
      return part.repeat(...repeats.map((count) => count || 1));
    },
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;

const sizeOfAll = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);

/** Equal sizes, except that the last ones may be smaller. */
function equalParts(length: number, count: number): number[] {
  const size = Math.ceil(length / count);
  return Array.from({ length: count }, (_, part) => Math.max(0, Math.min(size, length - part * size)));
}

function concatenated(inputs: readonly ConstantArray[], axis: number): ConstantArray {
  const starts: number[] = [];
  const total = inputs.reduce((sum, { shape }) => {
    starts.push(sum);
    return sum + shape[axis];
  }, 0);
  return tabulate(inputs[0].type, inputs[0].shape.with(axis, total), (index) => {
    const part = starts.findLastIndex((start, k) => start <= index[axis] && inputs[k].shape[axis] > 0);
    return elementOf(inputs[part], index.with(axis, index[axis] - starts[part]));
  });
}

/** The target shape of a Reshape: 0 keeps a dimension, −1 infers one. */
function reshapedTo(call: OperatorCall<{ readonly allowzero: number }>, shape: readonly number[]): number[] {
  const given = call.numbers(1)!;
  const kept = call.attributes.allowzero
    ? given
    : given.map((size, axis) => (size === 0 ? shape[axis] : size));
  const rest = sizeOf(kept.filter((size) => size !== -1));
  return kept.map((size) => (size === -1 ? (rest === 0 ? 0 : sizeOf(shape) / rest) : size));
}

function unsqueezed(call: OperatorCall<AxesAttribute>, shape: readonly number[]): number[] {
  const axes = axesOf(call) ?? [];
  const rank = shape.length + axes.length;
  const added = axes.map((axis) => axisOf(axis, rank)).sort((a, b) => a - b);
  return added.reduce<number[]>((result, axis) => result.toSpliced(axis, 0, 1), [...shape]);
}

function squeezed(call: OperatorCall<AxesAttribute>, shape: readonly number[]): number[] {
  const axes = axesOf(call)?.map((axis) => axisOf(axis, shape.length));
  const kept = axes?.find((axis) => shape[axis] !== 1);
  if (kept !== undefined)
    throw call.mismatch(`expected axes of size 1, got axis ${kept} of [${shape.join()}]`);
  return shape.filter((size, axis) => (axes ? !axes.includes(axis) : size !== 1));
}

/** The axes: an attribute in older opsets, an input in newer ones. */
function axesOf(call: OperatorCall<Partial<AxesAttribute>>): readonly number[] | undefined {
  return call.attributes.axes ?? call.numbers(1);
}
