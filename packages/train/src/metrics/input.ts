import { InvalidArgumentError } from '@ringrun/core';
import type { Tensor } from '@ringrun/nn';

/** A typed array of numbers or of int64. */
export type NumericArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array;

/** An array with a shape, such as a field of a batch of `DataLoader`. */
export interface ShapedInput {
  /** The elements, row-major. */
  readonly data: NumericArray;
  /** Length of each dimension. */
  readonly shape: readonly number[];
}

/** What a metric reads: a tensor of `@ringrun/nn`, an array with a shape, or a typed array, whose shape is [length]. */
export type MetricInput = Tensor | ShapedInput | NumericArray;

/** The elements of an input as numbers. */
export interface Values {
  /** Row-major. */
  readonly data: ArrayLike<number>;
  /** Length of each dimension. */
  readonly shape: readonly number[];
  /** True for scores, probabilities and other floating-point numbers; false for integers, such as class indices. */
  readonly isFloat: boolean;
}

/**
 * Reads an input of a metric. A tensor that is not known yet is computed.
 *
 * @param who the function that received it, for the error
 * @throws InvalidArgumentError if it is no input, or if its shape does not fit its length
 */
export async function valuesOf(who: string, input: MetricInput | number): Promise<Values> {
  if (typeof input === 'number') return { data: [input], shape: [], isFloat: true };
  if (isTensor(input)) return valuesIn(await input.array(), input.shape);
  if (ArrayBuffer.isView(input)) return valuesIn(input, [input.length]);
  const { data, shape } = Object(input) as Partial<ShapedInput>;
  if (!ArrayBuffer.isView(data) || !Array.isArray(shape)) {
    throw new InvalidArgumentError(
      `${who}: expected a tensor, a typed array, or { data: a typed array, shape }, got ${described(input)}.`,
    );
  }
  if (data.length !== sizeOf(shape)) {
    throw new InvalidArgumentError(
      `${who}: expected ${sizeOf(shape)} elements for shape [${shape.join(', ')}], got ${data.length}.`,
    );
  }
  return valuesIn(data, shape);
}

/** Number of elements of a shape. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, length) => product * length, 1);
}

function isTensor(input: unknown): input is Tensor {
  return typeof (input as Partial<Tensor> | null)?.array === 'function';
}

function valuesIn(data: NumericArray, shape: readonly number[]): Values {
  if (data instanceof BigInt64Array || data instanceof BigUint64Array)
    return { data: Float64Array.from<bigint>(data, Number), shape, isFloat: false };
  return { data, shape, isFloat: data instanceof Float32Array || data instanceof Float64Array };
}

function described(value: unknown): string {
  return Array.isArray(value) ? 'an array' : value === null ? 'null' : typeof value;
}

/** @throws InvalidArgumentError if two inputs differ in shape */
export function requireSameShape(who: string, predictions: Values, target: Values): void {
  const [given, expected] = [predictions, target].map(({ shape }) => `[${shape.join(', ')}]`);
  if (given === expected) return;
  throw new InvalidArgumentError(
    `${who}: expected predictions and target of one shape, got ${given} and ${expected}.`,
  );
}
