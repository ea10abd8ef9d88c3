import { nativeDType, nativeReduceOp } from '@ringrun/native';

import {
  bytesPerElement,
  DeviceTensor,
  dtypeOf,
  InvalidArgumentError,
  ReduceOp,
  reduceOpsFor,
  typedArrayClass,
} from '@ringrun/core';
import type { CollectiveBuffer, DType } from '@ringrun/core';

/** Maximum number of elements of one array: the limit of a typed array. */
const maxElements = 2 ** 32;

/** Tags are below this limit, so that they fit a C int, as in torch and MPI. */
const tagsEnd = 2 ** 31;

/** A rank and the size of its group. */
export interface Place {
  readonly rank: number;
  readonly size: number;
}

const opsOfNccl: readonly ReduceOp[] = ['SUM', 'AVG', 'PRODUCT', 'MIN', 'MAX'];

const dtypes = Object.keys(bytesPerElement) as DType[];

/**
 * The functions below return the checked argument, as the addon's number if it has one, or throw an
 * `InvalidArgumentError`.
 */

/** Returns the dtype of the tensor's class. */
export function checkedDTypeOf(tensor: CollectiveBuffer, name = 'tensor'): DType {
  if (tensor instanceof DeviceTensor) return tensor.dtype;
  const dtype = dtypeOf(tensor);
  if (dtype !== undefined) return dtype;
  const classes = dtypes.map((one) => typedArrayClass[one].name);
  throw new InvalidArgumentError(
    `${name} is ${describeValue(tensor)}, expected one of ${classes.join(', ')}${cureFor(tensor)}`,
  );
}

function cureFor(tensor: unknown): string {
  const isPlainUint16Array = Object.prototype.toString.call(tensor) === '[object Uint16Array]';
  return isPlainUint16Array
    ? '. A Uint16Array does not determine float16 or bfloat16: ' +
        'wrap the same memory with new Float16Bits(array.buffer, array.byteOffset, array.length) or new BFloat16Bits(…)'
    : '';
}

/** Checks that the dtype supports the op. */
export function checkedReduceOp(op: ReduceOp, dtype: DType): number {
  const number = checkedOpOfAnyDType(op);
  if (reduceOpsFor(dtype).includes(op)) return number;
  const others = dtypes.filter((other) => reduceOpsFor(other).includes(op));
  throw new InvalidArgumentError(
    `op is ${op} and the tensor's dtype ${dtype}: ${whyMeaningless(op)}. ` +
      `${dtype} supports ${reduceOpsFor(dtype).join(', ')}; ${op} supports ${others.join(', ')}`,
  );
}

export function checkedOpOfAnyDType(op: ReduceOp): number {
  if (Object.hasOwn(nativeReduceOp, op)) return nativeReduceOp[op];
  throw new InvalidArgumentError(
    `op is ${describeValue(op)}, expected one of ReduceOp: ${Object.keys(nativeReduceOp).join(', ')}`,
  );
}

function whyMeaningless(op: ReduceOp): string {
  return op === ReduceOp.AVG
    ? 'AVG is not defined for integers (reduce with SUM and divide, or use a floating-point dtype)'
    : 'bitwise operations are not defined for floating-point numbers';
}

/** Also checks that NCCL supports the op if the tensor is on a GPU. */
export function checkedReduceOpFor(tensor: CollectiveBuffer, op: ReduceOp, dtype: DType): number {
  const number = checkedReduceOp(op, dtype);
  if (!(tensor instanceof DeviceTensor) || opsOfNccl.includes(op)) return number;
  throw new InvalidArgumentError(
    `op is ${op} and the tensor is on a GPU, where NCCL supports ${opsOfNccl.join(', ')}: use copyToHost and reduce the array`,
  );
}

export function checkedDType(dtype: DType): number {
  if (Object.hasOwn(bytesPerElement, dtype)) return nativeDType[dtype];
  throw new InvalidArgumentError(`dtype is ${describeValue(dtype)}, expected one of ${dtypes.join(', ')}`);
}

/**
 * Checks the arguments of an asynchronous operation: typed arrays, lists of them, and other values, which are ignored.
 * JavaScript could shrink a resizable buffer, and so unmap its memory, while the operation uses it.
 */
export function refuseResizable(value: unknown): void {
  if (ArrayBuffer.isView(value)) {
    const { resizable } = value.buffer as ArrayBufferLike & { resizable?: boolean };
    if (resizable !== true) return;
    throw new InvalidArgumentError(
      'asynchronous operation: expected memory of a fixed size, got a resizable ArrayBuffer. ' +
        'Copy the array, or use the Sync form of the operation.',
    );
  }
  if (Array.isArray(value)) for (const one of value as unknown[]) refuseResizable(one);
}

export function checkedRank(name: string, rank: number, size: number): number {
  if (Number.isInteger(rank) && rank >= 0 && rank < size) return rank;
  throw new InvalidArgumentError(
    `${name} is ${describeValue(rank)}, expected a rank of this group: an integer from 0 to ${size - 1}`,
  );
}

/** Checks the other rank of a message. */
export function checkedPeer(name: string, peer: number, { rank, size }: Place): number {
  if (checkedRank(name, peer, size) !== rank) return peer;
  throw new InvalidArgumentError(
    `${name} is ${rank}, which is this rank itself, expected another rank. Copy the array instead`,
  );
}

export function checkedTag(tag: number): number {
  if (Number.isInteger(tag) && tag >= 0 && tag < tagsEnd) return tag;
  throw new InvalidArgumentError(
    `tag is ${describeValue(tag)}, expected an integer from 0 to ${tagsEnd - 1}`,
  );
}

export function checkedSize(size: number): number {
  if (Number.isInteger(size) && size >= 1) return size;
  throw new InvalidArgumentError(
    `size is ${describeValue(size)}, expected the number of processes: an integer of at least 1`,
  );
}

export function checkedLength(length: number): number {
  if (Number.isInteger(length) && length >= 0 && length < maxElements) return length;
  throw new InvalidArgumentError(
    `length is ${describeValue(length)}, expected a number of elements: an integer from 0 to 2^32 - 1`,
  );
}

/** Infinity waits without limit. */
export function checkedTimeout(timeoutMs: number): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return timeoutMs;
  throw new InvalidArgumentError(
    `timeoutMs is ${describeValue(timeoutMs)}, expected milliseconds: a number greater than 0`,
  );
}

export function describeValue(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return `of class ${value.constructor.name}`;
  return String(value);
}

/** The argument after the inputs of a collective. */
export function optionsAmong(inputs: number, first: unknown, second: unknown, third: unknown): object {
  const options = inputs === 0 ? first : inputs === 1 ? second : third;
  return options === undefined ? noOptions : (options as object);
}

/** The options of a call without any. A shared object, because creating and checking one takes a tenth of a short call. */
export const noOptions: object = Object.freeze({});
