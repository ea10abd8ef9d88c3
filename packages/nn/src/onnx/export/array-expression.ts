import { isClose, type Column, type Known } from './fit-sum.ts';
import type { ConstantEntry } from './recording-graph.ts';
import { valueOf, type Dimension, type SizeExpression } from './size-expression.ts';
import { expressionOf } from './size-solver.ts';

type Elements = Pick<ConstantEntry, 'dtype' | 'shape'> & { readonly values: readonly number[] };

/** Number of elements per call to check first. */
const maxElements = 48;

/**
 * The expression of an array's elements by their indices and the sizes, such as n − 1 − i; undefined if none is found.
 *
 * @param sizes known sizes in each call
 * @param indices of the array's axes
 */
export function arrayExpression(
  arrays: readonly Elements[],
  sizes: readonly Known[],
  indices: readonly Dimension[],
): SizeExpression | undefined {
  if (arrays[0].dtype === 'bool') return onlyNumber(arrays);
  if (arrays.every(({ values }) => values.length === 0)) return 0;
  const some = observationsOf(arrays, spread);
  const found = candidatesOf(some, sizes, indices).flatMap((candidates) => {
    const expression = expressionOf(some.elements, candidates);
    return expression === undefined ? [] : [expression];
  });
  return found.find((expression) => holds(expression, arrays, sizes, indices));
}

/** True if the expression gives every element of every array. */
function holds(
  expression: SizeExpression,
  arrays: readonly Elements[],
  sizes: readonly Known[],
  indices: readonly Dimension[],
): boolean {
  return arrays.every(({ shape, values }, call) => {
    const numbers: number[] = [];
    for (const { expression: known, column } of sizes) {
      if (typeof known !== 'number' && known.op === 'Dimension') numbers[known.index] = column[call];
    }
    return values.every((element, position) => {
      for (const [axis, place] of placeOf(position, shape).entries()) numbers[indices[axis].index] = place;
      return isClose(element, valueOf(expression, numbers));
    });
  });
}

interface Observations {
  readonly elements: Column;
  /** The index along each axis. */
  readonly places: readonly Column[];
  readonly calls: readonly number[];
}

/** The indices and sizes; then, for one axis, with the index divided by the length of the first run of equal steps, and its remainder. */
function candidatesOf(
  { elements, places, calls }: Observations,
  sizes: readonly Known[],
  indices: readonly Dimension[],
): (readonly Known[])[] {
  const [index, ...others] = indices.map((expression, axis) => ({ expression, column: places[axis] }));
  const observed = sizes.map(({ expression, column }) => ({
    expression,
    column: calls.map((call) => column[call]),
  }));
  const plain = [index, ...others, ...observed];
  if (others.length > 0) return [plain];
  const first = elements.filter((_, row) => calls[row] === calls[0]);
  const steps = first.slice(1).map((element, i) => element - first[i]);
  const period = steps.findIndex((step) => step !== steps[0]) + 1;
  if (period < 2) return [plain];
  const quotient = { op: 'FloorDiv', a: index.expression, b: period } as const;
  const rest = { op: 'Mod', a: index.expression, b: period } as const;
  const radix: readonly Known[] = [
    { expression: quotient, column: index.column.map((place) => Math.floor(place / period)) },
    { expression: rest, column: index.column.map((place) => place % period) },
  ];
  return [plain, [...radix, ...observed]];
}

function observationsOf(
  arrays: readonly Elements[],
  chosen: (length: number) => readonly number[],
): Observations {
  const rows = arrays.flatMap(({ shape, values }, call) =>
    chosen(values.length).map((position) => ({ call, position, shape, element: values[position] })),
  );
  const places = arrays[0].shape.map((_, axis) =>
    rows.map(({ position, shape }) => placeOf(position, shape)[axis]),
  );
  return { elements: rows.map(({ element }) => element), places, calls: rows.map(({ call }) => call) };
}

/** The indices of an element, row-major. */
function placeOf(position: number, shape: readonly number[]): number[] {
  let rest = position;
  return shape
    .toReversed()
    .map((size) => {
      const index = rest % size;
      rest = Math.floor(rest / size);
      return index;
    })
    .toReversed();
}

/** The first and the last elements, and some between them. */
function spread(length: number): number[] {
  const ends = maxElements / 3;
  const between = range(ends).map((k) => Math.floor((k * length) / ends));
  const positions = [...Array(ends).keys(), ...between, ...range(ends).map((k) => length - 1 - k)];
  return [...new Set(positions)]
    .filter((position) => position >= 0 && position < length)
    .sort((a, b) => a - b);
}

function onlyNumber(arrays: readonly Elements[]): number | undefined {
  const [number] = arrays[0].values;
  return arrays.every(({ values }) => values.every((value) => Object.is(value, number))) ? number : undefined;
}

const range = (length: number): number[] => Array.from({ length }, (_, k) => k);
