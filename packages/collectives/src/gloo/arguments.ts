import { nativeDType, nativeReduceOp } from '@ringrun/native';

import type { DType, TypedArray } from '../dtype.ts';
import { bytesPerElement } from '../dtype.ts';
import { InvalidArgumentError } from '../errors.ts';
import type { ReduceOp } from '../reduce-op.ts';

/** Elements that one array may have: what a typed array can hold. */
const mostElements = 2 ** 32;

/** The functions below return the argument in the addon's terms, or throw an `InvalidArgumentError` before anything has happened. */

export function checkedTensor(tensor: TypedArray): Float32Array {
  // Callers in JavaScript can pass anything.
  const given: unknown = tensor;
  if (given instanceof Float32Array) return given;
  throw new InvalidArgumentError(`tensor is ${describeValue(given)}, expected a Float32Array`);
}

export function checkedReduceOp(op: ReduceOp): number {
  if (Object.hasOwn(nativeReduceOp, op)) return nativeReduceOp[op];
  throw new InvalidArgumentError(
    `op is ${describeValue(op)}, expected one of ReduceOp: ${Object.keys(nativeReduceOp).join(', ')}`,
  );
}

export function checkedDType(dtype: DType): number {
  if (Object.hasOwn(nativeDType, dtype)) return nativeDType[dtype];
  throw new InvalidArgumentError(
    `dtype is ${describeValue(dtype)}, expected one of ${Object.keys(bytesPerElement).join(', ')}`,
  );
}

export function checkedRank(name: string, rank: number, size: number): number {
  if (Number.isInteger(rank) && rank >= 0 && rank < size) return rank;
  throw new InvalidArgumentError(
    `${name} is ${describeValue(rank)}, expected a rank of this group: an integer from 0 to ${size - 1}`,
  );
}

export function checkedSize(size: number): number {
  if (Number.isInteger(size) && size >= 1) return size;
  throw new InvalidArgumentError(
    `size is ${describeValue(size)}, expected a number of processes: an integer from 1`,
  );
}

export function checkedLength(length: number): number {
  if (Number.isInteger(length) && length >= 0 && length < mostElements) return length;
  throw new InvalidArgumentError(
    `length is ${describeValue(length)}, expected a number of elements: an integer from 0, below 2^32`,
  );
}

/** Infinity waits for ever. */
export function checkedTimeout(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return timeoutMs;
  throw new InvalidArgumentError(
    `timeoutMs is ${describeValue(timeoutMs)}, expected milliseconds: a number above 0`,
  );
}

function describeValue(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'object' && value !== null) return `of class ${value.constructor.name}`;
  return String(value);
}
