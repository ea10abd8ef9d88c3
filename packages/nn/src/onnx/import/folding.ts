import type { Scalar } from '../../dtype.ts';
import { sizeOf } from '../../value-type.ts';
import { constantArray, type ConstantArray } from './constant-array.ts';
import { isInteger, rounded, type ElementType } from './element-type.ts';
import type { FoldingRule } from './specification.ts';

// Arithmetic of arrays that are known before the graph runs, in the semantics of ONNX.

/** A function of numbers, and its counterpart for integers. */
export interface ScalarFunction {
  readonly float: (...elements: number[]) => number;
  readonly integer?: (...elements: bigint[]) => bigint;
}

/** Applies a function to the elements of arrays that broadcast. */
export function foldElements({ float, integer }: ScalarFunction): FoldingRule<unknown> {
  return (_, inputs) => {
    const { type } = inputs[0];
    const compute = (elements: Scalar[]) =>
      isInteger(type) && integer ? integer(...(elements as bigint[])) : float(...elements.map(Number));
    return broadcasting(type, inputs, compute);
  };
}

/** Applies a condition to the elements of arrays that broadcast. */
export function foldCondition(compute: (...elements: Scalar[]) => boolean): FoldingRule<unknown> {
  return (_, inputs) => broadcasting('bool', inputs, (elements) => Number(compute(...elements)));
}

/** Computes a result of this type from the elements of arrays that broadcast. */
export function broadcasting(
  type: ElementType,
  inputs: readonly ConstantArray[],
  compute: (elements: Scalar[]) => Scalar,
): ConstantArray {
  const shape = inputs.map((input) => input.shape).reduce(broadcast);
  return tabulate(type, shape, (index) =>
    rounded(type, compute(inputs.map((input) => elementOf(input, index)))),
  );
}

/** Moves elements: the result at an index is the input's element at another. */
export function moved(
  input: ConstantArray,
  shape: readonly number[],
  from: (index: number[]) => number[],
): ConstantArray {
  return tabulate(input.type, shape, (index) => elementOf(input, from(index)));
}

/** Reduces arrays over axes, which are kept with size 1 if `keepdims`. */
export function reduced(
  input: ConstantArray,
  axes: readonly number[],
  keepdims: boolean,
  compute: (elements: Scalar[]) => Scalar,
): ConstantArray {
  const kept = input.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const inside = input.shape.map((size, axis) => (axes.includes(axis) ? size : 1));
  const result = tabulate(input.type, kept, (index) => {
    const elements = indicesOf(inside).map((within) =>
      elementOf(
        input,
        index.map((place, axis) => place + within[axis]),
      ),
    );
    return rounded(input.type, compute(elements));
  });
  return keepdims
    ? result
    : reshaped(
        result,
        input.shape.filter((_, axis) => !axes.includes(axis)),
      );
}

export const reshaped = ({ type, data }: ConstantArray, shape: readonly number[]): ConstantArray =>
  constantArray(type, shape, data);

export function axisOf(axis: number, rank: number): number {
  return axis < 0 ? axis + rank : axis;
}

/** numpy's broadcasting of shapes. */
export function broadcast(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const [left, right] = [a, b].map((shape) => shape[axis - rank + shape.length] ?? 1);
    return left === 1 ? right : left;
  });
}

/** The element at an index; missing leading dimensions and dimensions of 1 are repeated. */
export function elementOf({ shape, data }: ConstantArray, index: readonly number[]): Scalar {
  const own = index.slice(index.length - shape.length);
  return data[shape.reduce((place, size, axis) => place * size + (size === 1 ? 0 : own[axis]), 0)];
}

export function tabulate(
  type: ElementType,
  shape: readonly number[],
  compute: (index: number[]) => Scalar,
): ConstantArray {
  return constantArray(type, shape, indicesOf(shape).map(compute));
}

/** All indices of an array of this shape, row-major. */
function indicesOf(shape: readonly number[]): number[][] {
  const strides = shape.map((_, axis) => sizeOf(shape.slice(axis + 1)));
  return Array.from({ length: sizeOf(shape) }, (_, place) =>
    shape.map((size, axis) => Math.floor(place / strides[axis]) % size),
  );
}
