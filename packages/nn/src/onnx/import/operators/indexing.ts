import { where } from '../../../tensor/combine.ts';
import { checkElements } from '../../../graph/element-checks.ts';
import { ArgumentError } from '../../../errors/errors.ts';
import * as F from '../../../functional/index.ts';
import { indexSelect, scatterElements } from '../../../ops/indexing.ts';
import { Tensor } from '../../../tensor/tensor.ts';
import type { OperatorCall } from '../call.ts';
import { asTensor, integers, numbersOf, type ConstantArray } from '../constant-array.ts';
import { axisOf, elementOf, moved } from '../folding.ts';
import {
  every,
  flag,
  input,
  int,
  integral,
  ints,
  known,
  oneOf,
  operator,
  optional,
  requiredInts,
  since,
  type OperatorVersions,
} from '../specification.ts';

const positions = (name: string) => known(input(name, 'Tind'));
const types = { T: every, Tind: integral };

/** Operators that select elements by their positions. */
export const indexingOperators = {
  Slice: [
    ...operator({
      until: 9,
      types,
      inputs: [input('data')],
      attributes: { starts: requiredInts, ends: requiredInts, axes: ints },
      fold: (call, [x]) => slicedArray(x, slicesOf(x.shape, call.attributes)),
      compute: (call) => sliced(call.tensor(0), slicesOf(call.tensor(0).shape, call.attributes)),
    }),
    ...operator({
      since: 10,
      types,
      inputs: [
        input('data'),
        positions('starts'),
        positions('ends'),
        known(optional('axes', 'Tind')),
        known(optional('steps', 'Tind')),
      ],
      attributes: {},
      fold: (call, [x]) => slicedArray(x, slicesOf(x.shape, boundsOf(call))),
      compute: (call) => sliced(call.tensor(0), slicesOf(call.tensor(0).shape, boundsOf(call))),
    }),
  ],
  Gather: operator({
    types,
    inputs: [input('data'), input('indices', 'Tind')],
    attributes: { axis: int(0) },
    fold: (call, [x, indices]) => {
      const axis = axisOf(call.attributes.axis, x.shape.length);
      const count = indices.shape.length;
      const shape = x.shape.toSpliced(axis, 1, ...indices.shape);
      return moved(x, shape, (index) => {
        const position = Number(elementOf(indices, index.slice(axis, axis + count)));
        return index.toSpliced(axis, count, position < 0 ? position + x.shape[axis] : position);
      });
    },
    compute: gather,
  }),
  GatherElements: operator({
    since: 11,
    types,
    inputs: [input('data'), input('indices', 'Tind')],
    attributes: { axis: int(0) },
    compute: (call) => {
      const x = call.tensor(0);
      const axis = axisOf(call.attributes.axis, x.shape.length);
      return x.gather(axis, fromStart(call.operand(1), x.shape[axis]));
    },
  }),
  ScatterElements: operator({
    since: 11,
    types,
    inputs: [input('data'), input('indices', 'Tind'), input('updates')],
    attributes: {
      axis: int(0),
      reduction: since(16, oneOf('none', 'add')),
    },
    refuse: ({ attributes: { reduction }, dtype }) =>
      reduction === 'add' && dtype(0) === 'bool'
        ? 'expected numbers with the reduction add, got bool'
        : undefined,
    compute: (call) => {
      const [x, updates] = [call.tensor(0), call.tensor(2)];
      const axis = axisOf(call.attributes.axis, x.shape.length);
      const indices = fromStart(call.operand(1), x.shape[axis]);
      if (call.attributes.reduction === 'none') return x.scatter(axis, indices, updates);
      const sums = new Tensor(scatterElements(indices.value, updates.value, x.shape[axis], axis));
      const missing = x.shape.map((size, other) => [0, size - sums.shape[other]]);
      return x.add(F.pad(sums, missing.toReversed().flat()));
    },
  }),
  Trilu: operator({
    since: 14,
    types: { T: every, I: integral },
    inputs: [input('input'), known(optional('k', 'I'))],
    attributes: { upper: flag(1) },
    compute: (call) => {
      const [x, k] = [call.tensor(0), call.number(1) ?? 0];
      if (x.dtype !== 'bool') return call.attributes.upper ? x.triu(k) : x.tril(k);
      const floats = x.float();
      return (call.attributes.upper ? floats.triu(k) : floats.tril(k)).bool();
    },
  }),
} as const satisfies Readonly<Record<string, OperatorVersions>>;

interface Bounds {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  readonly axes?: readonly number[] | undefined;
  readonly steps?: readonly number[] | undefined;
}

function boundsOf(call: OperatorCall<unknown>): Bounds {
  const [starts, ends] = [call.numbers(1)!, call.numbers(2)!];
  return { starts, ends, axes: call.numbers(3), steps: call.numbers(4) };
}

/** The positions that a Slice selects, by axis. */
function slicesOf(shape: readonly number[], { starts, ends, axes, steps }: Bounds): Map<number, number[]> {
  return new Map(
    (axes ?? [...starts.keys()]).map((given, k) => {
      const axis = axisOf(given, shape.length);
      const size = shape[axis];
      const step = steps?.[k] ?? 1;
      const [least, most] = step > 0 ? [0, size] : [-1, size - 1];
      const [start, end] = [starts[k], ends[k]].map((bound) =>
        Math.min(Math.max(bound < 0 ? bound + size : bound, least), most),
      );
      const count = Math.max(0, Math.ceil((end - start) / step));
      return [axis, Array.from({ length: count }, (_, i) => start + i * step)];
    }),
  );
}

function slicedArray(x: ConstantArray, parts: ReadonlyMap<number, number[]>): ConstantArray {
  const shape = x.shape.map((size, axis) => parts.get(axis)?.length ?? size);
  return moved(x, shape, (index) => index.map((place, axis) => parts.get(axis)?.[place] ?? place));
}

function sliced(x: Tensor, parts: ReadonlyMap<number, number[]>): Tensor {
  return [...parts].reduce((part, [axis, places]) => {
    const start = places.at(0) ?? 0;
    const isRun = places.every((place, k) => place === start + k);
    if (isRun) return part.slice(axis, start, start + places.length);
    return new Tensor(indexSelect(part.value, axis, places));
  }, x);
}

/** Elements at positions along an axis; positions may have any shape, which replaces the axis. */
function gather(call: OperatorCall<{ readonly axis: number }>): Tensor {
  const [x, indices] = [call.tensor(0), call.operand(1)];
  const axis = axisOf(call.attributes.axis, x.shape.length);
  const size = x.shape[axis];
  const shape = x.shape.toSpliced(axis, 1, ...indices.shape);
  if (!(indices instanceof Tensor)) {
    const places = numbersOf(indices).map((place) => (place < 0 ? place + size : place));
    const outside = places.find((place) => place < 0 || place >= size);
    if (outside !== undefined) {
      throw call.mismatch(
        `expected positions below ${size} of axis ${axis} of [${x.shape.join()}], got ${outside}`,
      );
    }
    const selected =
      places.length === 1 ? x.narrow(axis, places[0], 1) : new Tensor(indexSelect(x.value, axis, places));
    return selected.view(...shape);
  }
  const places = fromStart(indices, size);
  if (axis === 0 && x.shape.length === 2 && x.dtype === 'float32') return F.embedding(places, x);
  return x.indexSelect(axis, places.view(-1)).view(...shape);
}

/** Converts negative positions, which count from the end, to positions from the start. */
function fromStart(operand: ConstantArray | Tensor, size: number): Tensor {
  const place = asTensor(operand);
  checkElements(place.value, (elements) => {
    for (const element of elements) {
      if (element >= -size && element < size) continue;
      throw new ArgumentError(
        `forward: expected positions from ${-size} to ${size - 1} in an input of the imported model, got ${element}.`,
      );
    }
  });
  const [zero, length] = [0, size].map((number) => asTensor(integers([number], [])));
  return where(zero.gt(place), place.add(length), place);
}
